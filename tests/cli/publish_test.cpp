// compile -o and --output-dir, as a user sees them.
#include <sys/stat.h>

#include <gmock/gmock.h>

#include "model_generator/model_generator.hpp"
#include "support/models.hpp"
#include "support/program.hpp"

namespace precast::testing {
namespace {

using ::testing::HasSubstr;
namespace stdfs = std::filesystem;

class PublishCommand : public ::testing::Test {
 protected:
  stdfs::path tiny(const std::string& name = "tiny.onnx", std::uint64_t seed = 1) {
    return make_model(folder_ / name, {.output = {}, .seed = seed});
  }
  [[nodiscard]] std::vector<std::string> compile(const stdfs::path& model, std::vector<std::string> more) const {
    more.insert(more.begin(), {"compile", model.native()});
    return precast_.fake(std::move(more));
  }
  [[nodiscard]] std::vector<std::string> names_in(const stdfs::path& folder) const {
    std::vector<std::string> names;
    for (const auto& entry : stdfs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
    return names;
  }

  Precast precast_;
  Folder folder_;
};

TEST_F(PublishCommand, WhatIsPublishedOpensElsewhereWithoutTheStore) {
  const auto out = folder_ / "out" / "net.onnx";
  const auto json = precast_.json(compile(tiny(), {"-o", out.native()}));
  EXPECT_EQ(json["outcome"], "compiled") << json.dump(2);
  EXPECT_EQ(json["published"], out.native());
  EXPECT_GT(json["timings_ms"]["publish"].get<double>(), 0);
  EXPECT_EQ(names_in(folder_ / "out").size(), 3U) << "the model, its binary under its digest, and the alias";
  stdfs::remove_all(precast_.store());
  stdfs::rename(folder_ / "out", folder_ / "moved");
  const auto moved = folder_ / "moved" / "net.onnx";
  const auto opened = precast_.json(precast_.fake({"resolve", moved.native(), "--open"}));
  EXPECT_EQ(opened["outcome"], "precompiled") << opened.dump(2);
  EXPECT_EQ(opened["path"], moved.native());
  EXPECT_EQ(count_events(precast_.trace(), "compile_end"), 1U);
}

TEST_F(PublishCommand, AHitIsPublishedWithoutACompileAndTheSameAgainIsAccepted) {
  const auto model = tiny();
  const auto out = folder_ / "net.onnx";
  ASSERT_EQ(precast_.run(compile(model, {})).code, 0);
  EXPECT_EQ(precast_.json(compile(model, {"-o", out.native()}))["outcome"], "hit");
  const std::string bytes = read_file(out);
  const Ran again = precast_.run(compile(model, {"-o", out.native()}));
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(read_file(out), bytes);
  EXPECT_EQ(count_events(precast_.trace(), "compile_end"), 1U);
}

TEST_F(PublishCommand, WhatSomebodyElseWroteIsReplacedOnlyWithOverwrite) {
  const auto model = tiny();
  const auto out = folder_ / "net.onnx";
  write_file(out, "thesis");
  int code = -1;
  const auto refused = precast_.json(compile(model, {"-o", out.native()}), &code);
  EXPECT_EQ(code, 2);
  EXPECT_EQ(refused["outcome"], "compiled") << "the compile itself is not lost";
  EXPECT_EQ(refused["published"], nullptr);
  EXPECT_THAT(refused["error"].value("message", ""), HasSubstr("net.onnx"));
  EXPECT_EQ(read_file(out), "thesis");
  EXPECT_EQ(precast_.run(compile(model, {"-o", out.native(), "--overwrite"})).code, 0);
  EXPECT_NE(read_file(out), "thesis");
}

TEST_F(PublishCommand, TheSourceIsNeverReplaced) {
  const auto model = tiny();
  const std::string bytes = read_file(model);
  stdfs::create_hard_link(model, folder_ / "same.onnx");
  for (const auto& out : {model, folder_ / "same.onnx"}) {
    const Ran ran = precast_.run(compile(model, {"-o", out.native(), "--overwrite"}));
    EXPECT_EQ(ran.code, 2) << ran.err;
  }
  EXPECT_EQ(read_file(model), bytes);
}

TEST_F(PublishCommand, SeveralModelsGoIntoAFolderUnderTheirNames) {
  const auto a = tiny("a.onnx", 1);
  const auto b = tiny("b.onnx", 2);
  const auto dir = folder_ / "compiled";
  const auto json = precast_.json(precast_.fake({"compile", a.native(), b.native(), "--output-dir", dir.native()}));
  EXPECT_EQ(json["results"][0]["published"], (dir / "a_fake_ep_ctx.onnx").native()) << json.dump(2);
  EXPECT_EQ(json["results"][1]["published"], (dir / "b_fake_ep_ctx.onnx").native());
  EXPECT_EQ(precast_.run(precast_.fake({"compile", a.native(), b.native(), "-o", "x.onnx"})).code, 2);
  stdfs::create_directory(folder_ / "other");
  stdfs::copy_file(b, folder_ / "other" / "a.onnx");
  const Ran twins = precast_.run(
      precast_.fake({"compile", a.native(), (folder_ / "other" / "a.onnx").native(), "--output-dir", dir.native()}));
  EXPECT_EQ(twins.code, 2);
  EXPECT_THAT(twins.err, HasSubstr("would have one output"));
  EXPECT_EQ(precast_.run(compile(a, {"--overwrite"})).code, 2) << "nothing to overwrite";
}

TEST_F(PublishCommand, WithoutACompiledModelNothingIsPublishedAndItIsSaid) {
  const auto model = tiny();
  const auto out = folder_ / "net.onnx";
  precast_.env["FAKE_EP_FAULT"] = "fail@compile";
  const Ran failed = precast_.run(compile(model, {"-o", out.native()}));
  EXPECT_EQ(failed.code, 1);
  EXPECT_THAT(failed.err, HasSubstr("nothing is published"));
  const Ran cpu = precast_.run({"compile", model.native(), "--ep", "cpu", "-o", out.native()});
  EXPECT_EQ(cpu.code, 5);
  EXPECT_FALSE(stdfs::exists(out));
  precast_.env.erase("FAKE_EP_FAULT");
  ASSERT_EQ(precast_.run(compile(model, {"-o", out.native(), "--retry-failed"})).code, 0);
  const Ran compiled_before = precast_.run(compile(out, {"-o", (folder_ / "again.onnx").native()}));
  EXPECT_EQ(compiled_before.code, 2) << compiled_before.err;
  EXPECT_THAT(compiled_before.err, HasSubstr("EPContext nodes already"));
}

TEST_F(PublishCommand, ABadOutputIsRefusedBeforeTheCompile) {
  const auto model = tiny();
  stdfs::create_directory(folder_ / "folder.onnx");
  for (const std::string& out : {model.native(), (folder_ / "folder.onnx").native(), std::string(),
                                 (folder_ / ".precast-01234567-89ab-4cde-8f01-23456789abcd.tmp").native()}) {
    EXPECT_EQ(precast_.run(compile(model, {"-o", out})).code, 2) << out;
  }
  EXPECT_EQ(precast_.run(compile(model, {"--output-dir", ""})).code, 2);
  EXPECT_EQ(count_events(precast_.trace(), "compile_begin"), 0U);
}

TEST_F(PublishCommand, NoFileThatTheUserNamedIsReplaced) {
  const auto a = tiny("x.onnx", 1);
  const auto b = tiny("x_fake_ep_ctx.onnx", 2);  // the name that x's output would get
  const std::string bytes = read_file(b);
  const Ran both = precast_.run(
      precast_.fake({"compile", a.native(), b.native(), "--output-dir", folder_.path().native(), "--overwrite"}));
  EXPECT_EQ(both.code, 2) << both.err;
  EXPECT_EQ(read_file(b), bytes);
  write_file(folder_ / "profile.json", "{}");
  const auto profile = folder_ / "profile.json";
  const Ran option =
      precast_.run(compile(a, {"--ep-options", "profile=" + profile.native(), "-o", profile.native(), "--overwrite"}));
  EXPECT_EQ(option.code, 2) << option.err;
  EXPECT_EQ(read_file(profile), "{}");
}

TEST_F(PublishCommand, ADamagedRecordIsNamedByVerify) {
  const auto out = folder_ / "net.onnx";
  ASSERT_EQ(precast_.run(compile(tiny(), {"-o", out.native()})).code, 0);
  EXPECT_EQ(precast_.run({"cache", "verify"}).code, 0);
  const auto record = stdfs::directory_iterator(precast_.store() / "publish")->path();
  stdfs::permissions(record, stdfs::perms::owner_all);
  write_file(record, "");
  const Ran verify = precast_.run({"cache", "verify"});
  EXPECT_EQ(verify.code, 1);
  EXPECT_THAT(verify.err, HasSubstr("not a record of what was published"));
}

// Neither read nor written: the store is not even made.
TEST_F(PublishCommand, WithoutTheCacheItIsPublishedAndKeptNowhereElse) {
  const auto model = tiny();
  const auto out = folder_ / "net.onnx";
  int code = -1;
  const auto json = precast_.json(compile(model, {"--no-cache", "-o", out.native()}), &code);
  EXPECT_EQ(code, 0) << json.dump(2);
  EXPECT_EQ(json["outcome"], "uncached");
  EXPECT_EQ(json["published"], out.native());
  EXPECT_EQ(json["path"], out.native());
  EXPECT_FALSE(json.contains("error"));
  EXPECT_FALSE(stdfs::exists(precast_.store()));
  const Ran inside = precast_.run(compile(model, {"--no-cache", "-o", (precast_.store() / "net.onnx").native()}));
  EXPECT_EQ(inside.code, 2);
  EXPECT_THAT(inside.err, HasSubstr("lies in a cache"));
  EXPECT_FALSE(stdfs::exists(precast_.store()));
  EXPECT_EQ(names_in(folder_.path()).size(), 4U) << "the model, and the published one with its binary and its alias";
  const auto opened = precast_.json(precast_.fake({"run", out.native()}));
  EXPECT_EQ(opened["outcome"], "precompiled") << opened.dump(2);
  EXPECT_EQ(precast_.run(compile(model, {"--no-cache"})).code, 2) << "it would keep nothing";
  const Ran again = precast_.run(compile(model, {"--no-cache", "-o", out.native(), "--ep-options", "output_scale=2"}));
  EXPECT_EQ(again.code, 2) << "something else is there";
  EXPECT_THAT(again.err, HasSubstr("--overwrite"));
  EXPECT_EQ(precast_.run(compile(model, {"--no-cache", "-o", out.native(), "--overwrite"})).code, 0);
}

TEST_F(PublishCommand, AStoreThatCannotWorkIsNotInTheWay) {
  precast_.env["PRECAST_CACHE_DIR"] = (folder_ / "file").native();
  write_file(folder_ / "file", "no folder");
  const auto out = folder_ / "out" / "net.onnx";
  const Ran ran = precast_.run(compile(tiny(), {"-o", out.native()}));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("running without the cache"));
  EXPECT_TRUE(stdfs::exists(out));
  EXPECT_EQ(precast_.run(compile(tiny(), {"-o", out.native(), "--strict"})).code, 7);
}

}  // namespace
}  // namespace precast::testing
