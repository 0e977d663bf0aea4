#include "genai/session.hpp"

#include "genai_native/support.hpp"

namespace precast::genai {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class GenaiSessionTest : public testing::GenaiTest {};

TEST_F(GenaiSessionTest, LoadsOnceAndUnloads) {
  Session session = tiny();
  EXPECT_FALSE(session.is_loaded());
  ASSERT_TRUE(session.load());
  EXPECT_TRUE(session.is_loaded());
  EXPECT_EQ(session.context_length(), 128);
  EXPECT_TRUE(session.prepared().is_original);
  EXPECT_THAT(session.prepared().warnings, IsEmpty());
  EXPECT_EQ(session.library().library, testing::kGenai);
  int readings = 0;
  const MonotonicClock clock = [&] { return std::chrono::nanoseconds(++readings); };
  ASSERT_TRUE(session.load({}, clock));
  EXPECT_EQ(readings, 0) << "it was loaded again";
  session.unload();
  EXPECT_FALSE(session.is_loaded());
  session.unload();
  ASSERT_TRUE(session.load());
  EXPECT_EQ(must_generate(session, request("hello", 2)).generation.token_ids.size(), 2U);
}

TEST_F(GenaiSessionTest, LoadsItselfWhenItIsUsed) {
  Session session = tiny();
  EXPECT_EQ(must_generate(session, request("hello the world", 2)).generation.token_ids.front(), 59);
  EXPECT_TRUE(session.is_loaded());
  Session other = tiny();
  EXPECT_TRUE(other.encode("hello"));
  EXPECT_TRUE(other.is_loaded());
}

TEST_F(GenaiSessionTest, MovesWithWhatIsLoaded) {
  Session first = tiny();
  ASSERT_TRUE(first.load());
  Session second = std::move(first);
  EXPECT_TRUE(second.is_loaded());
  Session third = flat();
  ASSERT_TRUE(third.load());
  third = std::move(second);
  EXPECT_EQ(third.bundle().model_type, "decoder-pipeline");
  EXPECT_EQ(must_generate(third, request("hello the world", 1)).generation.token_ids.front(), 59);
}

TEST_F(GenaiSessionTest, AGivenContextLengthCountsInsteadOfTheBundles) {
  LoadOptions shorter = options(testing::kDeps / "bundles/tiny-decoder");
  shorter.context_length = 8;
  Session session(resolver_, shorter);
  ASSERT_TRUE(session.load());
  EXPECT_EQ(session.context_length(), 8);
  GenerationRequest ids = request("", 50);
  ids.config.ignore_eos = true;
  ids.prompt.token_ids = {5, 6, 7};
  EXPECT_EQ(must_generate(session, ids).generation.token_ids.size(), 5U);
  ids.prompt.token_ids.assign(8, 5);
  EXPECT_THAT(session.generate(ids).error().message, HasSubstr("has 8 tokens, and the context 8"));
  shorter.context_length = 0;
  EXPECT_EQ(Session(resolver_, shorter).load().error().code, ErrorCode::bad_input);
}

TEST_F(GenaiSessionTest, LoadTimingsAreThoseOfTheirSteps) {
  Session session = tiny();
  ASSERT_TRUE(session.load({}, testing::growing_clock()));
  const LoadTimings& timings = session.load_timings();
  // 1 start, 2 read, 3 registered, 4, 5 prepared, 6 configuration, 7 model, 8, 9 tokenizer, 10 end
  EXPECT_EQ(timings.bundle_prepare, 2 + 5);
  EXPECT_EQ(timings.ep_registration, 3);
  EXPECT_EQ(timings.config_create, 6);
  EXPECT_EQ(timings.model_create, 7);
  EXPECT_EQ(timings.tokenizer_create, 9);
  EXPECT_EQ(timings.native_load(), 6 + 7 + 9);
  EXPECT_EQ(timings.total, 2 + 3 + 4 + 5 + 6 + 7 + 8 + 9 + 10);
}

TEST_F(GenaiSessionTest, WhatCannotBeLoadedLeavesItUnloadedAndMayBeTriedAgain) {
  const auto bundle = copy_of("tiny");
  const std::string model = testing::contents(bundle / "context.onnx");
  testing::put(bundle / "context.onnx", "no model");
  Session session = this->session(bundle);
  const auto loaded = session.load();
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, ErrorCode::compile_failed);
  EXPECT_THAT(loaded.error().message, HasSubstr("stage 'context' of '" + bundle.string()));
  EXPECT_EQ(loaded.error().path, bundle / "context.onnx");
  EXPECT_THAT(loaded.error().hint, HasSubstr("precast run '" + (bundle / "context.onnx").string() + "'"));
  EXPECT_EQ(loaded.error().message.find('\n'), std::string::npos);
  EXPECT_FALSE(session.is_loaded());
  EXPECT_FALSE(session.encode("hello"));
  testing::put(bundle / "context.onnx", model);
  EXPECT_TRUE(session.load());
}

TEST_F(GenaiSessionTest, AFailureInAFolderOfPrecastsNamesTheUsersFile) {
  const auto bundle = copy_of("tiny", {{"search", {{"top_k", 1}}}});
  // A byte-order mark: genai gets a view of the bundle.
  testing::put(bundle / kConfigName, "\xEF\xBB\xBF" + testing::contents(bundle / kConfigName));
  testing::put(bundle / "lm_head.onnx", "no model");
  const auto loaded = session(bundle).load();
  ASSERT_FALSE(loaded);
  EXPECT_THAT(loaded.error().message, HasSubstr("stage 'lm_head' of"));
  EXPECT_THAT(loaded.error().message, HasSubstr((bundle / "lm_head.onnx").string()));
  EXPECT_THAT(loaded.error().message, ::testing::Not(HasSubstr("original/")));
}

TEST_F(GenaiSessionTest, WithoutContextLengthNoModelIsCreated) {
  const auto bundle = copy_of("tiny", {{"model", {{"context_length", nullptr}}}});
  testing::put(bundle / "context.onnx", "no model");  // creating it would say so
  const auto loaded = session(bundle).load();
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, ErrorCode::bad_input);
  EXPECT_THAT(loaded.error().message, HasSubstr("context_length"));
}

TEST_F(GenaiSessionTest, APadTokenThatEndsAnAnswerIsWarnedOf) {
  const auto bundle = copy_of("tiny", {{"model", {{"pad_token_id", 2}}}});
  Session windowed = session(bundle);
  ASSERT_TRUE(windowed.load());
  EXPECT_THAT(windowed.prepared().warnings, ElementsAre(HasSubstr("pad_token_id")));
  Session other = session(copy_of("tiny-decoder", {{"model", {{"pad_token_id", 2}}}}));
  ASSERT_TRUE(other.load());
  EXPECT_THAT(other.prepared().warnings, IsEmpty());
}

TEST_F(GenaiSessionTest, TheBundleIsNotWrittenTo) {
  const auto bundle = copy_of("tiny");
  std::map<std::filesystem::path, fs::FileStat> before;
  const auto listing = [&] {
    std::map<std::filesystem::path, fs::FileStat> stats;
    stats[bundle] = fs::FileSystem::posix().lstat(bundle).value();
    for (const auto& entry : std::filesystem::directory_iterator(bundle)) {
      stats[entry.path()] = fs::FileSystem::posix().lstat(entry.path()).value();
    }
    return stats;
  };
  before = listing();
  LoadOptions rerouted = options(bundle);
  rerouted.prepare.ep = "cpu";
  Session session(resolver_, rerouted);
  EXPECT_EQ(must_generate(session, request("hello the world", 2)).generation.token_ids.size(), 2U);
  EXPECT_EQ(listing(), before);
}

}  // namespace
}  // namespace precast::genai
