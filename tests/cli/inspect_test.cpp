// precast inspect: what a model is.
#include <algorithm>
#include <set>

#include <sys/stat.h>

#include <gmock/gmock.h>

#include "model_generator/model_generator.hpp"
#include "support/models.hpp"
#include "support/program.hpp"

namespace precast::testing {
namespace {

using model_generator::Kind;
using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;
namespace stdfs = std::filesystem;

class Inspect : public ::testing::Test {
 protected:
  stdfs::path make(const model_generator::Options& wanted) {
    return make_model(wanted.output.empty() ? folder_ / "model.onnx" : wanted.output, wanted);
  }
  json inspect(const stdfs::path& model, std::vector<std::string> more = {}) {
    more.insert(more.end(), {"inspect", model.native()});
    int code = -1;
    auto document = precast_.json(std::move(more), &code);
    EXPECT_EQ(code, 0) << document.dump(2);
    return document;
  }
  std::string text(const stdfs::path& model, std::vector<std::string> more = {}) {
    more.insert(more.end(), {"inspect", model.native()});
    const Ran ran = precast_.run(std::move(more));
    EXPECT_EQ(ran.code, 0) << ran.err;
    return ran.out;
  }
  [[nodiscard]] static std::vector<std::string> fake_library() {
    return {"--ep-library", "fake_ep=" + fake_ep_library().native()};
  }
  stdfs::path compiled(std::vector<std::string> more = {}) {
    std::vector<std::string> arguments{"compile", make({}).native()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const auto document = precast_.json(precast_.fake(arguments));
    EXPECT_EQ(document["outcome"], "compiled") << document.dump(2);
    return document.value("path", "");
  }

  Precast precast_;
  Folder folder_;
};

TEST_F(Inspect, SaysWhatAModelTakesAndGivesAndIsMadeOf) {
  const auto model = make({.kind = Kind::dynamic});
  const json document = inspect(model);
  EXPECT_EQ(document["schema_version"], 1);
  EXPECT_EQ(document["command"], "inspect");
  EXPECT_EQ(document["path"], model.native());
  EXPECT_EQ(document["size"], stdfs::file_size(model));
  EXPECT_EQ(document["ir_version"], 8);
  EXPECT_EQ(document["opset"], 17);
  EXPECT_EQ(document["opsets"], (json{{"ai.onnx", 17}}));
  EXPECT_EQ(document["node_count"], 3);
  ASSERT_EQ(document["inputs"].size(), 1U);
  EXPECT_EQ(document["inputs"][0]["dtype"], "float32");
  EXPECT_EQ(document["inputs"][0]["shape"], (json{"batch", 8}));
  ASSERT_EQ(document["outputs"].size(), 1U);
  EXPECT_EQ(document["outputs"][0]["shape"][0], "batch");
  EXPECT_EQ(document["weight_precision"], "fp32");
  EXPECT_EQ(document["external_data"], json::array());
  EXPECT_EQ(document["ep_context"], json::array());
  EXPECT_EQ(document["compatibility"], nullptr);
  EXPECT_EQ(document["warnings"], json::array());
}

TEST_F(Inspect, TellsPeopleTheSameInAlignedLines) {
  const auto model = make({.kind = Kind::dynamic});
  const std::string said = text(model);
  EXPECT_THAT(said, HasSubstr("model     " + model.native() + "\n"));
  EXPECT_THAT(said, HasSubstr("opset     ai.onnx 17; IR version 8\n"));
  EXPECT_THAT(said, HasSubstr("nodes     3\n"));
  EXPECT_THAT(said, HasSubstr("weights   fp32 (float32 "));
  EXPECT_THAT(said, HasSubstr("[batch, 8]"));
  EXPECT_THAT(said, Not(HasSubstr("EXTERNAL DATA")));
  EXPECT_THAT(said, Not(HasSubstr("COMPILED FOR")));
  EXPECT_LE(std::ranges::count(said, '\n'), 24) << said;
}

TEST_F(Inspect, LoadsNoRuntimeForASourceModelNorForHelp) {
  precast_.env["LD_DEBUG"] = "files";
  const auto model = make({});
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"inspect", model.native()}, {"inspect", "--help"}}) {
    const Ran ran = precast_.run(arguments);
    EXPECT_EQ(ran.code, 0);
    EXPECT_THAT(ran.err, HasSubstr("libc.so")) << "the loader did not say what it loads";
    EXPECT_THAT(ran.err, Not(HasSubstr("libonnxruntime")));
  }
  EXPECT_THAT(precast_.run({"inspect", "--help"}).out, HasSubstr("Examples:\n  precast inspect model.onnx"));
}

TEST_F(Inspect, NeedsNeitherRuntimeNorStoreForASourceModel) {
  precast_.env["PRECAST_ORT_LIBRARY"] = "/nowhere/libonnxruntime.so";
  precast_.env["PRECAST_CACHE_DIR"] = "/proc/nowhere";
  EXPECT_EQ(inspect(make({}))["node_count"], 3);
}

TEST_F(Inspect, ExternalDataThatIsThereHasASize) {
  const auto model = make({.external = true});
  const json document = inspect(model);
  ASSERT_EQ(document["external_data"].size(), 1U);
  const json& data = document["external_data"][0];
  EXPECT_EQ(data["path"], "model.data");
  EXPECT_EQ(data["present"], true);
  EXPECT_EQ(data["size"], stdfs::file_size(folder_ / "model.data"));
  EXPECT_EQ(document["weight_precision"], "fp32");
}

TEST_F(Inspect, ExternalDataThatIsMissingIsAWarningNotAnError) {
  const auto model = make({.external = true});
  stdfs::remove(folder_ / "model.data");
  const Ran ran = precast_.run({"inspect", model.native()});
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(ran.out, HasSubstr("model.data     missing\n"));
  EXPECT_THAT(ran.err, HasSubstr("warning: external data 'model.data' is missing"));
  const json document = inspect(model);
  EXPECT_EQ(document["external_data"][0]["present"], false);
  EXPECT_EQ(document["external_data"][0]["size"], nullptr);
  EXPECT_EQ(document["warnings"].size(), 1U);
}

TEST_F(Inspect, ExternalDataThatIsTooShortOrNoFileIsAWarning) {
  const auto model = make({.external = true});
  stdfs::resize_file(folder_ / "model.data", 5);
  EXPECT_THAT(inspect(model)["warnings"][0].get<std::string>(), HasSubstr("has 5 bytes, the model wants"));
  stdfs::remove(folder_ / "model.data");
  stdfs::create_directory(folder_ / "model.data");
  EXPECT_EQ(inspect(model)["external_data"][0]["present"], false);
}

TEST_F(Inspect, BadModelsGetTheWordsAndExitCodeOfCompile) {
  write_file(folder_ / "empty.onnx", "");
  write_file(folder_ / "garbage.onnx", "this is no model at all");
  write_file(folder_ / "cut.onnx", read_file(make({})).substr(0, 200));
  stdfs::create_directory(folder_ / "folder.onnx");
  ASSERT_EQ(::mkfifo((folder_ / "fifo.onnx").c_str(), 0600), 0);
  for (const char* name : {"missing.onnx", "empty.onnx", "garbage.onnx", "folder.onnx", "fifo.onnx", "cut.onnx", ""}) {
    const std::string path = *name == '\0' ? "" : (folder_ / name).native();
    const Ran compile = precast_.run({"compile", path, "--ep", "cpu"});
    const Ran inspected = precast_.run({"inspect", path});
    EXPECT_EQ(inspected.code, 2) << name;
    EXPECT_EQ(inspected.code, compile.code) << name;
    EXPECT_EQ(inspected.err, compile.err) << name;
    EXPECT_EQ(inspected.out, "") << name;
    int code = -1;
    const json document = precast_.json({"inspect", path}, &code);
    EXPECT_EQ(code, 2) << name;
    EXPECT_EQ(document["command"], "inspect");
    EXPECT_NE(document["error"]["message"], "") << name;
  }
}

TEST_F(Inspect, ExternalDataOutsideTheFolderIsABadModel) {
  const auto model = make({.external = true});
  std::string bytes = read_file(model);
  const std::size_t at = bytes.find("model.data");
  ASSERT_NE(at, std::string::npos);
  while (bytes.find("model.data") != std::string::npos) bytes.replace(bytes.find("model.data"), 10, "../el.data");
  write_file(model, bytes);
  const Ran ran = precast_.run({"inspect", model.native()});
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(ran.err, precast_.run({"compile", model.native(), "--ep", "cpu"}).err);
}

TEST_F(Inspect, OddNamesAreEscapedSoThatTheJsonIsValid) {
  const auto model = make({.output = folder_ / "bad\xff\n.onnx"});
  EXPECT_THAT(inspect(model)["path"].get<std::string>(), HasSubstr("bad\\xff"));
  EXPECT_THAT(text(model), HasSubstr("bad\\xff\\n.onnx\n"));
}

TEST_F(Inspect, ACompiledModelNamesItsEpItsBinaryAndWhetherItFitsHere) {
  const auto model = compiled();
  const json document = inspect(model, fake_library());
  ASSERT_EQ(document["ep_context"].size(), 1U);
  const json& node = document["ep_context"][0];
  EXPECT_EQ(node["source"], "fake_ep");
  EXPECT_EQ(node["embedded"], false);
  EXPECT_EQ(node["main"], true);
  EXPECT_EQ(node["sdk"], "1.0.0");
  EXPECT_EQ(node["present"], true);
  const stdfs::path binary = model.parent_path() / node["reference"].get<std::string>();
  EXPECT_EQ(node["size"], stdfs::file_size(binary));
  ASSERT_EQ(document["compatibility"].size(), 1U) << document.dump(2);
  EXPECT_EQ(document["compatibility"][0],
            (json{{"ep", "fake_ep"}, {"info", "fake;v1"}, {"verdict", "optimal"}, {"reason", nullptr}}));
  EXPECT_THAT(document["metadata_keys"], ::testing::Contains("ep_compatibility_info.fake_ep"));
  const std::string said = text(model, fake_library());
  EXPECT_THAT(said, HasSubstr("COMPILED FOR  MAIN  SDK"));
  EXPECT_THAT(said, HasSubstr("fake_ep  optimal\n"));
}

TEST_F(Inspect, TheEpsOwnWordIsReported) {
  const auto model = compiled();
  for (const auto& [word, verdict] :
       {std::pair{"unsupported", "unsupported"}, {"prefer_recompile", "prefer_recompilation"}}) {
    precast_.env["FAKE_EP_VERDICT"] = word;
    EXPECT_EQ(inspect(model, fake_library())["compatibility"][0]["verdict"], verdict);
  }
  precast_.env["FAKE_EP_VERDICT"] = "not_applicable";
  const json one = inspect(model, fake_library())["compatibility"][0];
  EXPECT_EQ(one["verdict"], nullptr);
  EXPECT_EQ(one["reason"], "the EP does not judge");
}

TEST_F(Inspect, CompatibilityIsNullWhereItCannotBeKnown) {
  const auto model = compiled();
  json one = inspect(model)["compatibility"][0];
  EXPECT_EQ(one["verdict"], nullptr);
  EXPECT_EQ(one["info"], "fake;v1");
  EXPECT_EQ(one["reason"], "the EP is not here");
  precast_.env["PRECAST_ORT_LIBRARY"] = "/nowhere/libonnxruntime.so";
  one = inspect(model)["compatibility"][0];
  EXPECT_EQ(one["verdict"], nullptr);
  EXPECT_THAT(one.value("reason", ""), HasSubstr("/nowhere/libonnxruntime.so"));
}

TEST_F(Inspect, AModelThatDoesNotSayWhatItFitsHasNoVerdict) {
  precast_.env["FAKE_EP_COMPATIBILITY"] = "";
  const json one = inspect(compiled(), fake_library())["compatibility"][0];
  EXPECT_EQ(one["info"], nullptr);
  EXPECT_EQ(one["verdict"], nullptr);
  EXPECT_THAT(one.value("reason", ""), HasSubstr("does not say"));
}

TEST_F(Inspect, ABinaryThatIsMissingIsAWarning) {
  const auto model = compiled();
  stdfs::copy_file(model, folder_ / "alone.onnx");
  const json document = inspect(folder_ / "alone.onnx", fake_library());
  EXPECT_EQ(document["ep_context"][0]["present"], false);
  EXPECT_EQ(document["ep_context"][0]["size"], nullptr);
  EXPECT_THAT(document["warnings"][0].get<std::string>(), HasSubstr("is missing"));
}

TEST_F(Inspect, AnEmbeddedBinaryHasASizeAndNoReference) {
  const json node = inspect(compiled({"--embed"}), fake_library())["ep_context"][0];
  EXPECT_EQ(node["embedded"], true);
  EXPECT_EQ(node["reference"], nullptr);
  EXPECT_EQ(node["present"], nullptr);
  EXPECT_GT(node["size"], 0);
}

}  // namespace
}  // namespace precast::testing
