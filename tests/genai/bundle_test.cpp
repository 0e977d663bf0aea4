// What is read of a bundle, and what is said of one that is none.
#include <sys/stat.h>

#include "support.hpp"

namespace precast::genai::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Options = std::map<std::string, std::string>;

std::string message_of(const Result<Bundle>& bundle) {
  return bundle ? "" : bundle.error().message;
}

std::string problem_with(std::string_view config) {
  return message_of(BundleFolder(config).read());
}

TEST(Bundle, FlatOneHasOneStageNamedDecoder) {
  const Bundle bundle = bundle_of(flat("[]"));
  EXPECT_EQ(bundle.layout, Layout::flat);
  ASSERT_EQ(bundle.stages.size(), 1U);
  EXPECT_EQ(bundle.stages[0].name, "decoder");
  EXPECT_EQ(bundle.stages[0].model, bundle.folder / "model.onnx");
  EXPECT_EQ(bundle.eos_token_ids, (std::vector<std::int64_t>{2, 3}));
  EXPECT_THAT(bundle.notes, IsEmpty());
}

TEST(Bundle, PipelineStagesStandInTheirOrder) {
  const Bundle bundle = bundle_of(pipeline(R"([{"qnn": {"a": "1"}}, {"cpu": {}}])", "[]"));
  EXPECT_EQ(bundle.layout, Layout::pipeline);
  ASSERT_EQ(bundle.stages.size(), 3U);
  EXPECT_EQ(bundle.stages[0].name, "embeddings");
  EXPECT_FALSE(bundle.stages[1].run_on_token_gen);
  ASSERT_EQ(bundle.stages[1].providers.size(), 2U);
  EXPECT_EQ(bundle.stages[1].providers[0].name, "qnn");
  EXPECT_EQ(bundle.stages[1].providers[0].ep, "QNNExecutionProvider");
  EXPECT_EQ(bundle.sliding_window->window_size, 16);
  EXPECT_EQ(bundle.pad_token_id, 0);
}

TEST(Bundle, AnUnknownEpIsKeptAsWritten) {
  const Bundle bundle = bundle_of(flat(R"([{"RyzenAI": {}}])"));
  EXPECT_EQ(bundle.stages[0].providers[0].ep, "RyzenAI");
  EXPECT_TRUE(uses_hardware(bundle));
}

TEST(Bundle, UsesHardwareWhenAStageNamesAnotherEpThanTheCpu) {
  EXPECT_FALSE(uses_hardware(Bundle{}));
  EXPECT_FALSE(uses_hardware(bundle_of(flat("[]"))));
  EXPECT_FALSE(uses_hardware(bundle_of(flat(R"([{"CPUExecutionProvider": {}}])"))));
  EXPECT_FALSE(uses_hardware(bundle_of(flat(R"("malformed")"))));
  EXPECT_FALSE(uses_hardware(bundle_of(flat(R"([3, {"qnn": 4}])"))));
  EXPECT_TRUE(uses_hardware(bundle_of(flat(R"([{"dml": {}}])"))));
  EXPECT_TRUE(uses_hardware(bundle_of(pipeline("[]", R"([{"OpenVINO": {"device_type": "NPU"}}])"))));
}

TEST(Bundle, ScalarsBecomeStringsAndANoteSaysSo) {
  const Bundle bundle = bundle_of(flat(R"([{"qnn": {"a": true, "b": false, "c": 3, "d": 2.0, "e": 1.5, "f": null}}])"));
  EXPECT_EQ(bundle.stages[0].providers[0].options,
            (Options{{"a", "1"}, {"b", "0"}, {"c", "3"}, {"d", "2"}, {"e", "1.5"}}));
  EXPECT_EQ(bundle.notes.size(), 6U);
  EXPECT_THAT(bundle.notes, Contains(AllOf(HasSubstr("'f' is null"), HasSubstr("left out"))));
}

TEST(Bundle, WithoutSessionOptionsAStageUsesTheDecoders) {
  BundleFolder folder(R"({"model": {"decoder": {"session_options": {"provider_options": [{"qnn": {"x": "1"}}]},
    "pipeline": [{"a": {"filename": "model.onnx"}}, {"b": {"filename": "model.onnx", "session_options": {}}}]}}})");
  const auto bundle = folder.read();
  ASSERT_TRUE(bundle) << message_of(bundle);
  EXPECT_EQ(bundle->stages[0].providers.size(), 1U);
  EXPECT_THAT(bundle->stages[1].providers, IsEmpty());
}

TEST(Bundle, ThePathOfTheConfigMeansItsFolder) {
  const BundleFolder folder(flat("[]"));
  const auto bundle = read_bundle(fs::FileSystem::posix(), folder.path() / "genai_config.json");
  ASSERT_TRUE(bundle) << message_of(bundle);
  EXPECT_EQ(bundle->folder, folder.path());
  EXPECT_EQ(read_bundle(fs::FileSystem::posix(), folder.path() / "." / "")->folder, folder.path());
}

TEST(Bundle, AConfigThatIsALinkIsFollowed) {
  const BundleFolder folder(flat("[]"));
  std::filesystem::rename(folder.path() / "genai_config.json", folder.path() / "real.json");
  std::filesystem::create_symlink("real.json", folder.path() / "genai_config.json");
  EXPECT_TRUE(folder.read());
}

TEST(Bundle, WhatIsNoBundleIsNamed) {
  const BundleFolder folder(flat("[]"));
  fs::FileSystem& fs = fs::FileSystem::posix();
  EXPECT_THAT(message_of(read_bundle(fs, folder.path() / "nowhere")), AllOf(HasSubstr("nowhere"), HasSubstr("exist")));
  EXPECT_THAT(message_of(read_bundle(fs, folder.path() / "model.onnx")),
              AllOf(HasSubstr("model.onnx"), HasSubstr("is not a folder")));
  EXPECT_FALSE(read_bundle(fs, ""));
  std::filesystem::remove(folder.path() / "genai_config.json");
  EXPECT_THAT(message_of(folder.read()),
              AllOf(HasSubstr("there is no genai_config.json"), HasSubstr(folder.path().string())));
}

TEST(Bundle, AFifoInPlaceOfTheConfigDoesNotHang) {
  const BundleFolder folder(flat("[]"));
  std::filesystem::remove(folder.path() / "genai_config.json");
  ASSERT_EQ(mkfifo((folder.path() / "genai_config.json").c_str(), 0600), 0);
  EXPECT_THAT(message_of(folder.read()), HasSubstr("not a regular file"));
}

TEST(Bundle, InvalidJsonIsNamedWithLineAndColumn) {
  EXPECT_THAT(problem_with("{\n  \"model\": oops}"), HasSubstr("line 2, column 12"));
  EXPECT_THAT(problem_with(""), HasSubstr("line 1, column 1"));
  EXPECT_THAT(problem_with("{\"model\": 1e999}"), HasSubstr("invalid JSON"));
}

TEST(Bundle, AByteOrderMarkIsNotPartOfTheText) {
  const Bundle bundle = bundle_of("\xEF\xBB\xBF" + flat("[]"));
  EXPECT_EQ(bundle.config_text, flat("[]"));
  EXPECT_TRUE(bundle.needs_rewriting);
}

TEST(Bundle, WhatIsWrongInAConfigIsNamedByKey) {
  EXPECT_THAT(problem_with("[]"), HasSubstr("a list, not an object"));
  EXPECT_THAT(problem_with("{}"), HasSubstr("'model' is missing"));
  EXPECT_THAT(problem_with(R"({"model": 3})"), HasSubstr("'model' is a number"));
  EXPECT_THAT(problem_with(R"({"model": {}})"), HasSubstr("'model.decoder' is missing"));
  const auto decoder = [](const std::string& text) { return problem_with(R"({"model": {"decoder": )" + text + "}}"); };
  EXPECT_THAT(decoder("{}"), HasSubstr("stage 'decoder' has no 'filename'"));
  EXPECT_THAT(decoder(R"({"pipeline": {}})"), HasSubstr("is an object, not a list"));
  EXPECT_THAT(decoder(R"({"pipeline": []})"), HasSubstr("names no stage"));
  EXPECT_THAT(decoder(R"({"pipeline": [1]})"), HasSubstr("is a number, not an object"));
  EXPECT_THAT(decoder(R"({"pipeline": [{"a": 1}]})"), HasSubstr("stage 'a' is a number"));
  EXPECT_THAT(decoder(R"({"pipeline": [{"a": {}}]})"), HasSubstr("stage 'a' has no 'filename'"));
  EXPECT_THAT(decoder(R"({"pipeline": [{"a": {"filename": "model.onnx"}}, {"a": {"filename": "model.onnx"}}]})"),
              HasSubstr("two stages are named 'a'"));
}

TEST(Bundle, AStageFileMustLieInTheBundle) {
  const auto named = [](const std::string& file) {
    return problem_with(R"({"model": {"decoder": {"filename": ")" + file + R"("}}})");
  };
  EXPECT_THAT(named("/etc/passwd"), HasSubstr("is absolute"));
  EXPECT_THAT(named("a/../../x"), HasSubstr("leads out of the bundle"));
  EXPECT_THAT(named(""), HasSubstr("no file name"));
  EXPECT_THAT(named("model.onnx\\u0000x"), HasSubstr("no file name"));
  EXPECT_THAT(named("gone.onnx"), AllOf(HasSubstr("gone.onnx"), HasSubstr("'decoder'"), HasSubstr("does not exist")));
  EXPECT_THAT(named("."), HasSubstr("not a regular file"));
}

TEST(Bundle, WithoutATokenizerTheMessageSaysWhatIsLookedFor) {
  const BundleFolder folder(flat("[]"));
  std::filesystem::remove(folder.path() / "tokenizer.json");
  put(folder.path() / "tokenizer_config.json", "{}");
  const auto bundle = folder.read();
  EXPECT_THAT(message_of(bundle), HasSubstr("no tokenizer"));
  EXPECT_THAT(bundle.error().hint, HasSubstr("tokenizer.json"));
}

TEST(Bundle, WhatWouldHangGenaiIsNamed) {
  const BundleFolder folder(flat("[]"));
  ASSERT_EQ(::mkfifo((folder.path() / "tokenizer_config.json").c_str(), 0600), 0);
  const std::filesystem::path outside = folder.path().string() + ".fifo";
  const auto expect_named = [&](const char* name) {
    const auto bundle = folder.read();
    EXPECT_THAT(message_of(bundle), AllOf(HasSubstr(name), HasSubstr("is neither a file nor a folder")));
    ASSERT_FALSE(bundle);
    EXPECT_EQ(bundle.error().code, ErrorCode::bad_input);
  };
  expect_named("tokenizer_config.json");
  std::filesystem::rename(folder.path() / "tokenizer_config.json", outside);
  std::filesystem::create_symlink(outside, folder.path() / "link");
  expect_named("link");
  std::filesystem::remove(outside);
  std::filesystem::create_directories(folder.path() / "precast/deep");
  ASSERT_EQ(::mkfifo((folder.path() / "precast/deep/context.bin").c_str(), 0600), 0);
  expect_named("context.bin");
  std::filesystem::remove(folder.path() / "precast/deep/context.bin");
  EXPECT_TRUE(folder.read()) << "a link that leads to nothing is left to whoever needs it";
}

TEST(Bundle, NamesOfCachesAreTemplatesWithOneNumber) {
  const auto with = [](const std::string& group, const std::string& key, const std::string& value) {
    std::string config = pipeline("[]", "[]");
    config.insert(config.find(R"("decoder": {)") + 12, "\"" + group + R"(": {")" + key + R"(": ")" + value + "\"}, ");
    return BundleFolder(config).read();
  };
  for (const char* bad : {"past_%s", "past_%n", "past_%d_%d", "past_%", "past_%%d", "past_%5d", "past"}) {
    for (const auto& [group, key] :
         {std::pair("inputs", "past_key_names"), std::pair("outputs", "present_value_names")}) {
      const auto bundle = with(group, key, bad);
      EXPECT_THAT(message_of(bundle), AllOf(HasSubstr("model.decoder." + std::string(group) + "." + key),
                                            HasSubstr("'" + std::string(bad) + "'"), HasSubstr("%d once")));
    }
  }
  EXPECT_TRUE(with("inputs", "past_key_names", "past.%d.key"));
  EXPECT_TRUE(with("inputs", "input_ids", "100%s"));
  EXPECT_TRUE(with("inputs", "some_names", "plain"));
  EXPECT_FALSE(with("inputs", "some_names", "%s"));
}

TEST(Bundle, AKeyThatStandsTwiceIsRefused) {
  std::string config = pipeline("[]", "[]");
  config.insert(config.find(R"("context_length")"), R"("context_length": 64, )");
  EXPECT_THAT(message_of(BundleFolder(config).read()), HasSubstr("an object has 'context_length' twice"));
}

TEST(Bundle, NumbersThatGenaiCannotTakeAreNamedByKey) {
  const auto with = [](const std::string& from, const std::string& to) {
    std::string config = pipeline("[]", "[]");
    config.replace(config.find(from), from.size(), to);
    return BundleFolder(config).read();
  };
  for (const char* size : {"0", "-3", "65", "4294967297"}) {
    const auto bundle = with(R"("window_size": 16)", std::string(R"("window_size": )") + size);
    EXPECT_THAT(message_of(bundle),
                AllOf(HasSubstr("'model.decoder.sliding_window.window_size' is " + std::string(size)),
                      HasSubstr("between 1 and the context length")));
  }
  EXPECT_TRUE(with(R"("window_size": 16)", R"("window_size": 64)"));
  for (const char* none : {R"("other": 16)", R"("window_size": "16")"}) {
    EXPECT_THAT(message_of(with(R"("window_size": 16)", none)), HasSubstr("window_size' is 0"));
  }
  EXPECT_THAT(message_of(with(R"("alignment": "left")", R"("alignment": "middle")")),
              HasSubstr("is 'middle', neither left nor right"));
  EXPECT_THAT(message_of(with(R"("context_length": 64)", R"("context_length": 2147483648)")),
              HasSubstr("'model.context_length' is 2147483648, not at most 2147483647"));
}

TEST(Bundle, ContextLengthComesFromTheArgumentOrTheConfig) {
  Bundle bundle = bundle_of(flat("[]"));
  EXPECT_EQ(context_length_of(bundle, std::nullopt), 128);
  EXPECT_EQ(context_length_of(bundle, 7), 7);
  EXPECT_EQ(context_length_of(bundle, 0).error().code, ErrorCode::bad_input);
  EXPECT_EQ(context_length_of(bundle, 128), 128);
  const auto longer = context_length_of(bundle, 129);
  ASSERT_FALSE(longer);
  EXPECT_EQ(longer.error().code, ErrorCode::bad_input);
  EXPECT_THAT(longer.error().message,
              AllOf(HasSubstr("--context-length"), HasSubstr("129 "), HasSubstr("more than the 128 of")));
  bundle.context_length = std::nullopt;
  EXPECT_THAT(context_length_of(bundle, std::nullopt).error().message,
              AllOf(HasSubstr("model.context_length"), HasSubstr("genai_config.json")));
  bundle.context_length = -1;
  EXPECT_FALSE(context_length_of(bundle, std::nullopt));
}

}  // namespace
}  // namespace precast::genai::testing
