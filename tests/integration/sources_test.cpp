// What a hit depends on, shown on the real OpenVINO EP: bytes, not names, places or times.
#include <csignal>

#include <sys/stat.h>

#include <fcntl.h>
#include <gmock/gmock.h>

#include "integration/real_eps.hpp"
#include "model_generator/model_generator.hpp"
#include "support/one_processor.hpp"
#include "support/program.hpp"

namespace precast::testing {
namespace {

using model_generator::Kind;
using ::testing::HasSubstr;
namespace stdfs = std::filesystem;

class Sources : public ::testing::Test {
 protected:
  Sources() { precast_.env["PRECAST_ASSUME_CPU_VENDOR"] = "intel"; }

  stdfs::path external_model() {
    model_generator::Options options;
    options.kind = Kind::transformer;
    options.output = folder_ / "model.onnx";
    options.external = true;
    options.layers = 1;
    options.hidden = 64;
    options.sequence = 8;
    const auto made = model_generator::generate(options);
    EXPECT_TRUE(made) << made.error().message;
    return options.output;
  }

  nlohmann::json resolve(const stdfs::path& model, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments{"resolve", model.native(), "--require-compiled", "--open"};
    for (const std::string& argument : arguments_for(openvino())) arguments.push_back(argument);
    for (std::string& argument : more) arguments.push_back(std::move(argument));
    int code = -1;
    auto json = precast_.json(std::move(arguments), &code);
    EXPECT_EQ(code, 0) << json.dump(2);
    return json;
  }

  Precast precast_;
  Folder folder_;
};

TEST_F(Sources, OneFloatOfTheExternalFileIsAnotherKeyAtTheSameSizeAndTime) {
  const auto model = external_model();
  const auto before = resolve(model);
  flip_byte_keeping_times(folder_ / "model.data");
  const auto after = resolve(model);
  EXPECT_EQ(after["outcome"], "compiled");
  EXPECT_NE(after["key"], before["key"]);
  flip_byte_keeping_times(folder_ / "model.data");
  const auto back = resolve(model);
  EXPECT_EQ(back["outcome"], "hit");
  EXPECT_EQ(back["generation"], before["generation"]);
}

TEST_F(Sources, TheSameFolderElsewhereUnderAnotherNameIsAHit) {
  const auto model = external_model();
  const auto before = resolve(model);
  const stdfs::path copy = folder_ / "Kopie für Žofie 模型 und so";
  stdfs::create_directory(copy);
  stdfs::copy_file(model, copy / "anders benannt.onnx");
  stdfs::copy_file(folder_ / "model.data", copy / "model.data");
  const auto after = resolve(copy / "anders benannt.onnx");
  EXPECT_EQ(after["outcome"], "hit") << after.dump(2);
  EXPECT_EQ(after["generation"], before["generation"]);
}

// OpenVINO's device says how many streams it could run, and that is no part of what it compiles.
TEST_F(Sources, OneProcessorIsNoOtherMachine) {
  const auto model = external_model();
  const auto before = resolve(model);
  const OneProcessor here;
  EXPECT_EQ(resolve(model)["key"], before["key"]);
}

TEST_F(Sources, AModelReachedThroughLinksCompilesAsHuggingFaceLaysItOut) {
  const auto model = external_model();
  const stdfs::path blobs = folder_ / "blobs";
  const stdfs::path snapshot = folder_ / "snapshot";
  stdfs::create_directory(blobs);
  stdfs::create_directory(snapshot);
  stdfs::rename(model, blobs / "aaaa");
  stdfs::rename(folder_ / "model.data", blobs / "bbbb");
  stdfs::create_symlink("../blobs/aaaa", snapshot / "model.onnx");
  stdfs::create_symlink("../blobs/bbbb", snapshot / "model.data");
  const auto first = resolve(snapshot / "model.onnx");
  EXPECT_EQ(first["outcome"], "compiled");
  EXPECT_EQ(resolve(snapshot / "model.onnx")["outcome"], "hit");
}

TEST_F(Sources, AFlippedByteInAStoredFileIsNeverServedAndIsFound) {
  const auto model = external_model();
  const auto before = resolve(model);
  const auto& artifacts = before["artifacts"];
  ASSERT_GE(artifacts.size(), 2U);
  for (const auto& artifact : artifacts) {
    const auto current = resolve(model);
    const stdfs::path folder = stdfs::path(current["path"].get<std::string>()).parent_path();
    std::string name = artifact["path"];
    if (!stdfs::exists(folder / name)) name = current["artifacts"].back()["path"];
    flip_byte_keeping_times(folder / name);
    int code = -1;
    const auto verify = precast_.json({"cache", "verify"}, &code);
    EXPECT_EQ(code, 1);
    EXPECT_EQ(verify["ok"], false);
    EXPECT_THAT(verify["findings"].dump(), HasSubstr(name));
    const auto after = resolve(model);
    EXPECT_EQ(after["outcome"], "compiled");
    EXPECT_NE(after["generation"], current["generation"]);
    EXPECT_THAT(after["reason"].get<std::string>(), HasSubstr(name));
    EXPECT_EQ(precast_.run({"cache", "verify"}).code, 0);
  }
}

TEST_F(Sources, NothingIsWrittenIntoTheWorkingDirectoryOrBesideTheModel) {
  const auto model = external_model();
  const Folder here;
  precast_.working_directory = here.path();
  std::vector<std::string> cache{"--ep-options", R"(load_config={"CPU":{"CACHE_DIR":"here"}})"};
  int code = -1;
  const auto json = precast_.json(
      {"resolve", model.native(), "--open", "--require-compiled", "--ep", "openvino", cache[0], cache[1]}, &code);
  EXPECT_EQ(code, 0) << json.dump(2);
  EXPECT_TRUE(stdfs::is_empty(here.path()));
  std::size_t files = 0;
  for (const auto& entry : stdfs::directory_iterator(folder_.path())) files += entry.is_regular_file() ? 1 : 0;
  EXPECT_EQ(files, 2U);
}

TEST_F(Sources, AReadOnlyModelFolderIsNoObstacle) {
  const auto model = external_model();
  stdfs::permissions(folder_.path(), stdfs::perms::owner_read | stdfs::perms::owner_exec);
  EXPECT_EQ(resolve(model)["outcome"], "compiled");
  stdfs::permissions(folder_.path(), stdfs::perms::owner_all);
}

TEST_F(Sources, RebuildReplacesTheEntryAndTheOldOneGoes) {
  const auto model = external_model();
  const auto before = resolve(model);
  const auto after = resolve(model, {"--rebuild"});
  EXPECT_EQ(after["outcome"], "compiled");
  EXPECT_EQ(after["key"], before["key"]);
  EXPECT_NE(after["generation"], before["generation"]);
  EXPECT_FALSE(stdfs::exists(stdfs::path(before["path"].get<std::string>())));
  EXPECT_EQ(resolve(model)["generation"], after["generation"]);
}

TEST_F(Sources, NoCacheNeitherReadsNorWritesTheStore) {
  const auto model = external_model();
  precast_.env["PRECAST_CACHE_DIR"] = (folder_ / "store").native();
  const auto json = precast_.json({"resolve", model.native(), "--no-cache", "--open", "--ep", "openvino"});
  EXPECT_EQ(json["outcome"], "uncached") << json.dump(2);
  EXPECT_GT(json["timings_ms"]["compile"].get<double>(), 0);
  EXPECT_FALSE(stdfs::exists(folder_ / "store" / "keys"));
  EXPECT_EQ(json["path"], model.native()) << "the private generation is gone when precast ends";
  for (const auto& entry : stdfs::directory_iterator(precast_.scratch())) {
    EXPECT_FALSE(entry.path().filename().string().starts_with("precast-")) << entry.path() << " stayed behind";
  }
}

TEST_F(Sources, ExecBecomesTheCommandWithThePathAndTheVariable) {
  const auto model = external_model();
  std::vector<std::string> arguments{"resolve", model.native()};
  for (const std::string& argument : arguments_for(openvino())) arguments.push_back(argument);
  arguments.insert(arguments.end(), {"--exec", "--", "/bin/sh", "-c",
                                     "test \"$0\" = \"$PRECAST_MODEL\" && echo \"$0\" && exit 42", "{}"});
  const Ran ran = precast_.run(arguments);
  EXPECT_EQ(ran.code, 42) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("/generations/"));
}

}  // namespace
}  // namespace precast::testing
