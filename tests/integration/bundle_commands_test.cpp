// generate, chat, perf and compile of bundles as commands: what they say, and how they end.
#include <algorithm>
#include <csignal>
#include <thread>

#include <gmock/gmock.h>

#include "support/bundles.hpp"

namespace precast::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;
namespace stdfs = std::filesystem;
using namespace std::string_literals;  // NOLINT(google-build-using-namespace)
using nlohmann::json;

class BundleCommands : public ::testing::Test {
 protected:
  BundleCommands() {
    precast_.env["PRECAST_FAKE_EP_TRACE"] = precast_.trace().native();
    precast_.env["XDG_STATE_HOME"] = (folder_ / "state").native();
  }
  [[nodiscard]] static stdfs::path tiny() { return stored_bundle("tiny"); }
  // A changed copy.
  [[nodiscard]] stdfs::path copy(const std::string& name = "bundle") const {
    return copy_bundle("tiny", folder_ / name);
  }
  // Its static stages on the fake EP, which poses as QNN.
  [[nodiscard]] stdfs::path on_fake(const std::string& name = "bundle") const {
    const stdfs::path bundle = copy(name);
    for (const char* stage : {"context", "iterator"}) {
      give_ep(bundle, stage, "QNN", {{"soc_model", "60"}, {"htp_arch", "73"}});
    }
    return bundle;
  }
  [[nodiscard]] static std::vector<std::string> posing(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"--ep-library", "QNNExecutionProvider=" + fake_ep_library().native()});
    return arguments;
  }
  // The error says these words and nothing is on stdout; with --json it is there, as an object.
  void expect_error(const std::vector<std::string>& arguments, int code, const std::vector<std::string>& words) const {
    SCOPED_TRACE(::testing::PrintToString(arguments));
    const Ran text = precast_.run(arguments);
    EXPECT_EQ(text.code, code) << text.err;
    EXPECT_EQ(text.out, "");
    int json_code = -1;
    const json document = precast_.json(arguments, &json_code);
    EXPECT_EQ(json_code, code);
    for (const std::string& word : words) {
      EXPECT_THAT(text.err, HasSubstr(word));
      EXPECT_THAT(document["error"].value("message", ""), HasSubstr(word)) << document.dump(2);
    }
  }
  [[nodiscard]] static std::vector<std::string> perf(const stdfs::path& bundle, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments{
        "perf", bundle.native(), "--iterations", "2", "--warmup", "1", "--max-new-tokens", "4"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  // The report that perf --json gives.
  [[nodiscard]] json measure(const stdfs::path& bundle, const std::vector<std::string>& more = {}) const {
    int code = -1;
    const json document = precast_.json(perf(bundle, more), &code);
    EXPECT_EQ(code, 0) << document.dump(2);
    return document.value("report", json::object());
  }
  [[nodiscard]] std::vector<stdfs::path> default_reports() const {
    std::vector<stdfs::path> reports;
    const stdfs::path folder = folder_ / "state/precast/perf/tiny";
    if (!stdfs::exists(folder)) return reports;
    for (const auto& entry : stdfs::directory_iterator(folder)) reports.push_back(entry.path());
    return reports;
  }
  [[nodiscard]] json generate(const std::vector<std::string>& more) const {
    std::vector<std::string> arguments{"generate", tiny().native(), "--no-apply-template", "-p", "hello the world"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    int code = -1;
    json document = precast_.json(arguments, &code);
    EXPECT_EQ(code, 0) << document.dump(2);
    return document;
  }
  // chat with these lines as its stdin.
  [[nodiscard]] Ran chat(const std::string& input, const std::string& more = "") const {
    write_file(folder_ / "input", input);
    const std::string program = (stdfs::path(PRECAST_BINARY_DIR) / "bin/precast").native();
    Running running(precast_.scratch(), "/bin/sh",
                    {"-c", program + " chat " + tiny().native() + " --max-new-tokens 4 " + more + " <" +
                               (folder_ / "input").native()},
                    precast_.env);
    return running.wait(std::chrono::seconds(60));
  }

  Precast precast_;
  Folder folder_;
};

TEST_F(BundleCommands, AWrongBundleIsSaidToBeThat) {
  expect_error(hello(folder_ / "nothing"), 2, {"does not exist"});
  stdfs::create_directories(folder_ / "empty");
  expect_error(hello(folder_ / "empty"), 2, {"there is no genai_config.json in", "empty"});
  const stdfs::path bundle = copy();
  const std::string config = read_file(bundle / "genai_config.json");
  write_file(bundle / "genai_config.json", "{\n  \"model\": {,\n");
  expect_error(hello(bundle), 2, {"genai_config.json', line 2, column 13", "invalid JSON"});
  write_file(bundle / "genai_config.json", R"({"model": {"decoder": [1]}})");
  expect_error(hello(bundle), 2, {"'model.decoder' is a list, not an object"});
  write_file(bundle / "genai_config.json", R"({"model": {"decoder": {"pipeline": 3}}})");
  expect_error(hello(bundle), 2, {"pipeline"});
  auto without_length = nlohmann::ordered_json::parse(config);
  without_length["model"].erase("context_length");
  write_config(bundle, without_length);
  expect_error(hello(bundle), 2, {"'model.context_length' is missing"});
  write_file(bundle / "genai_config.json", config);
  stdfs::rename(bundle / "iterator.onnx", bundle / "elsewhere.onnx");
  expect_error(hello(bundle), 2, {"'iterator.onnx' of stage 'iterator' does not exist"});
  stdfs::rename(bundle / "elsewhere.onnx", bundle / "iterator.onnx");
  stdfs::remove(bundle / "tokenizer.json");
  expect_error(hello(bundle), 2, {"there is no tokenizer in"});
}

TEST_F(BundleCommands, TheConfigItselfNamesItsBundle) {
  EXPECT_EQ(tokens_of(precast_.json(hello(tiny() / "genai_config.json"))), tiny_tokens());
}

TEST_F(BundleCommands, APromptLongerThanTheContextIsSaidWithBothNumbers) {
  std::string prompt;
  for (int i = 0; i < 90; ++i) prompt += "hello ";
  expect_error({"generate", tiny().native(), "--no-apply-template", "-p", prompt}, 2,
               {"the prompt has 360 tokens, and the context 128"});
  expect_error(perf(tiny(), {"--prompt-tokens", "300"}), 2, {"300 tokens", "a context of 128"});
}

TEST_F(BundleCommands, WhatIsNotThereIsNotUsedSilently) {
  const stdfs::path bundle = copy();
  give_ep(bundle, "context", "VitisAI", {});
  expect_error(hello(bundle), 3, {"EP VitisAIExecutionProvider was not found"});
  expect_error(hello(bundle, {"--ep", "nonsense"}), 2, {"there is no EP named 'nonsense'"});
  const std::map<std::string, std::string> options{
      {"soc_model", "60"}, {"htp_arch", "73"}, {"backend_path", "/nowhere/libQnnHtp.so"}};
  give_ep(bundle, "context", "QNN", options);
  expect_error(hello(bundle), 2, {"stage 'context': provider option 'backend_path'", "/nowhere/libQnnHtp.so"});
  expect_error(hello(tiny(), {"--ep", "@"}), 2, {"'@' names no EP"});
  expect_error(hello(tiny(), {"--ep", "cpu", "-d", "npu"}), 2, {"the CPU EP has no device npu"});
  expect_error(hello(tiny(), {"--context-length", "129"}), 2, {"--context-length", "more than the 128 of"});
  for (const char* option : {"--ep=qnn", "--device=npu"}) {
    const Ran warned = precast_.run(hello(tiny(), {option}));
    EXPECT_EQ(warned.code, 0) << warned.err;
    EXPECT_THAT(warned.err, HasSubstr("was asked for"));
    expect_error(hello(tiny(), {option, "--strict"}), 2, {"was asked for"});
    expect_error({"compile", tiny().native(), option, "--strict"}, 2, {"was asked for"});
  }
}

TEST_F(BundleCommands, ADeviceThatIsNotThereIsNotReplaced) {
  precast_.env["PRECAST_ASSUME_CPU_VENDOR"] = "intel";
  const stdfs::path bundle = copy();
  give_ep(bundle, "context", "OpenVINO", {});
  for (const auto& more : {std::vector<std::string>{}, {"--compile"}, {"--strict"}, {"--compile", "--strict"}}) {
    std::vector<std::string> arguments = hello(bundle, {"-d", "gpu"});
    arguments.insert(arguments.end(), more.begin(), more.end());
    expect_error(arguments, 3, {"stage 'context'", "OpenVINOExecutionProvider"});
  }
  const Ran ran = precast_.run(hello(bundle, {"-d", "cpu"}));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err, Not(HasSubstr("warning: device"))) << "the EP's device is known";
}

TEST_F(BundleCommands, AStageThatIsCompiledRunsOnNoOtherEp) {
  const stdfs::path published = folder_ / "published";
  const stdfs::path bundle = on_fake();
  const Ran made = precast_.run(posing({"compile", bundle.native(), "-o", published.native()}));
  ASSERT_EQ(made.code, 0) << made.err;
  expect_error(hello(published, {"--ep", "cpu"}), 2,
               {"stage 'context' of", "is compiled for 'QNNExecutionProvider' already", "cannot run on the CPU"});
  expect_error(hello(published, {"--ep", "openvino", "--compile"}), 2, {"cannot run on OpenVINOExecutionProvider"});
  EXPECT_EQ(precast_.run(posing(hello(published, {"--ep", "qnn"}))).code, 0);
  expect_error(posing({"compile", published.native(), "-o", (folder_ / "again").native()}), 2, {"compiled already"});
}

TEST_F(BundleCommands, ACacheInTheBundleIsRefused) {
  const stdfs::path bundle = on_fake();
  precast_.env["PRECAST_CACHE_DIR"] = (bundle / "cache").native();
  expect_error(posing(hello(bundle, {"--compile"})), 2, {"the cache", "lies in the bundle"});
  expect_error(posing({"compile", bundle.native()}), 2, {"the cache", "lies in the bundle"});
  EXPECT_FALSE(stdfs::exists(bundle / "cache")) << "the bundle was written to";
}

// None of these may end the process as genai's own search for ORT does.
TEST_F(BundleCommands, WithoutAUsableGenaiOrOrtTheReasonIsSaid) {
  const auto with = [&](const std::string& library) { return hello(tiny(), {"--genai-library", library}); };
  expect_error(with("/nowhere/libonnxruntime-genai.so"), 2, {"--genai-library names '/nowhere", "not a file"});
  write_file(folder_ / "text.so", "no library");
  expect_error(with((folder_ / "text.so").native()), 3, {"onnxruntime-genai cannot be loaded from"});
  const stdfs::path ort = stdfs::path(PRECAST_DEPS_DIR) / "ort/lib/libonnxruntime.so.1";
  expect_error(with(ort.native()), 3, {"is not an onnxruntime-genai that precast can use: it has no Oga"});

  // A precast beside which there is nothing.
  stdfs::create_directories(folder_ / "alone");
  const stdfs::path alone = folder_ / "alone" / "precast";
  stdfs::copy_file(stdfs::path(PRECAST_BINARY_DIR) / "bin/precast", alone);
  const auto run_alone = [&](const std::vector<std::string>& arguments) {
    return Running(precast_.scratch(), alone.native(), arguments, precast_.env).wait(std::chrono::seconds(60));
  };
  const Ran no_genai = run_alone(hello(tiny(), {"--ort-library", ort.native()}));
  EXPECT_EQ(no_genai.code, 3) << no_genai.err;
  EXPECT_THAT(no_genai.err, HasSubstr("onnxruntime-genai (libonnxruntime-genai.so) was not found"));
  EXPECT_THAT(no_genai.err, HasSubstr("tools/setup genai"));
  const Ran no_ort = run_alone(hello(tiny()));
  EXPECT_EQ(no_ort.code, 3) << no_ort.err;
  EXPECT_THAT(no_ort.err, HasSubstr("ONNX Runtime"));
}

TEST_F(BundleCommands, PromptFilesAreUtf8) {
  const std::string bundle = tiny().native();
  write_file(folder_ / "prompt", "hello the world");
  const std::string prompt = (folder_ / "prompt").native();
  EXPECT_EQ(tokens_of(precast_.json(
                {"generate", bundle, "--no-apply-template", "--prompt-file", prompt, "--max-new-tokens", "16"})),
            tiny_tokens());
  for (const char* command : {"generate", "perf"}) {
    expect_error({command, bundle, "--prompt-file", (folder_ / "none").native()}, 2, {"--prompt-file", "none"});
    write_file(folder_ / "latin", "caf\xE9");
    expect_error({command, bundle, "--prompt-file", (folder_ / "latin").native()}, 2, {"latin' is not UTF-8"});
    expect_error({command, bundle, "--prompt-file", prompt, "-p", "x"}, 2, {"--prompt excludes --prompt-file"});
  }
  expect_error({"generate", bundle}, 2, {"there is no prompt"});
}

TEST_F(BundleCommands, AnAnswerEndsForTheReasonThatItGives) {
  EXPECT_EQ(generate({"--max-new-tokens", "16"})["finish_reason"], "length");
  const json one = generate({"--max-new-tokens", "1"});
  EXPECT_EQ(tokens_of(one), std::vector<int>{tiny_tokens().front()});
  EXPECT_EQ(one["generated_tokens"], 1);
  EXPECT_EQ(one["timings_ms"]["decode_tokens"], json::array());
  const std::string whole = generate({"--max-new-tokens", "16"})["text"];
  const json stopped = generate({"--stop", "neverthere", "--stop", whole.substr(3, 3)});
  EXPECT_EQ(stopped["finish_reason"], "stop");
  EXPECT_EQ(stopped["text"], whole.substr(0, 3));
  const stdfs::path ends = make_bundle(folder_ / "ends", {"--eos-after", "3"});
  const json ended = precast_.json({"generate", ends.native(), "--no-apply-template", "-p", "hello the world"});
  EXPECT_EQ(ended["finish_reason"], "eos") << ended.dump(2);
  EXPECT_EQ(ended["generated_tokens"], 3);
  const json longer = precast_.json(
      {"generate", ends.native(), "--no-apply-template", "-p", "hello the world", "--min-new-tokens", "5"});
  EXPECT_GE(longer["generated_tokens"], 5) << longer.dump(2);
}

TEST_F(BundleCommands, TheSameSeedDrawsTheSameTokens) {
  const std::vector<std::string> seven{"--do-sample", "--temperature", "3", "--seed", "7", "--max-new-tokens", "24"};
  std::vector<std::string> eight = seven;
  eight[4] = "8";
  const auto first = tokens_of(generate(seven));
  EXPECT_EQ(first.size(), 24U);
  EXPECT_EQ(tokens_of(generate(seven)), first);
  EXPECT_NE(tokens_of(generate(eight)), first);
  expect_error(hello(tiny(), {"--top-p", "2"}), 2, {"--top-p", "at most 1, not '2'"});
}

TEST_F(BundleCommands, AConversationIsSentAgainEachTurn) {
  const Ran ran = chat("first\nsecond\n/reset\nfirst\n", "--json");
  EXPECT_EQ(ran.code, 0) << ran.err;
  const json document = ran.json();
  const auto& turns = document["turns"];
  ASSERT_EQ(turns.size(), 3U) << document.dump(2);
  EXPECT_EQ(turns[0]["user"], "first");
  EXPECT_EQ(turns[0]["generated_tokens"], 4);
  EXPECT_GE(turns[1]["prompt_tokens"].get<int>(), turns[0]["prompt_tokens"].get<int>() + 4 + 5);
  EXPECT_EQ(turns[2]["prompt_tokens"], turns[0]["prompt_tokens"]) << "/reset forgets";
  EXPECT_EQ(turns[2]["assistant"], turns[0]["assistant"]);
  EXPECT_EQ(document["stages"].size(), 4U);
  const Ran system = chat("first\n", "--json --system 'Be brief.'");
  EXPECT_GT(system.json()["turns"][0]["prompt_tokens"], turns[0]["prompt_tokens"]);
}

TEST_F(BundleCommands, ChatEndsWithItsInput) {
  const Ran ran = chat("first\n\nlast without an end");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(std::ranges::count(ran.out, '\n'), 2) << ran.out;
  const Ran nothing = chat("", "--json");
  EXPECT_EQ(nothing.code, 0) << nothing.err;
  EXPECT_EQ(nothing.json()["turns"], json::array());
}

TEST_F(BundleCommands, AnErrorInATurnEndsOnlyThatTurn) {
  const Ran ran = chat("first\ncaf\xE9\n" + std::string(600, 'x') + "\n/reset\nfirst\n", "--json");
  EXPECT_EQ(ran.code, 2) << ran.err;
  const auto turns = ran.json()["turns"];
  ASSERT_EQ(turns.size(), 4U) << turns.dump(2);
  EXPECT_THAT(turns[1]["error"].value("message", ""), HasSubstr("not UTF-8"));
  EXPECT_THAT(turns[2]["error"].value("message", ""), HasSubstr("the context 128"));
  EXPECT_THAT(turns[2]["error"].value("hint", ""), HasSubstr("/reset"));
  EXPECT_EQ(turns[3]["assistant"], turns[0]["assistant"]);
}

TEST_F(BundleCommands, AChatLineIsRefusedWholeAndNeverCut) {
  const Ran ran = chat("hello\0 the world\nhello \xff\nhello\n"s, "--json");
  EXPECT_EQ(ran.code, 2) << ran.err;
  const json turns = ran.json()["turns"];
  ASSERT_EQ(turns.size(), 3U) << turns.dump(2);
  EXPECT_THAT(turns[0]["error"].value("message", ""), HasSubstr("NUL"));
  EXPECT_THAT(turns[1]["error"].value("message", ""), HasSubstr("not UTF-8"));
  EXPECT_EQ(turns[2]["user"], "hello");
  const std::string huge(17U << 20U, 'x');
  const Ran long_line = chat(huge + "\nhello\n" + huge, "--json");
  ASSERT_EQ(long_line.json()["turns"].size(), 3U);
  EXPECT_THAT(long_line.json()["turns"][0]["error"].value("message", ""), HasSubstr("more than 16 MiB"));
  EXPECT_EQ(long_line.json()["turns"][1]["user"], "hello");
  EXPECT_TRUE(long_line.json()["turns"][2].contains("error"));
}

TEST_F(BundleCommands, ChatTakesCommands) {
  const Ran ran = chat("/help\nhello\n/quit\nnever asked\n", "--json");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("/reset forgets"));
  EXPECT_EQ(ran.json()["turns"].size(), 1U);
}

TEST_F(BundleCommands, OptionsOfCompilingNeedIt) {
  for (const char* option : {"--rebuild", "--no-cache", "--retry-failed", "--embed"}) {
    const Ran ran = precast_.run(hello(tiny(), {option}));
    EXPECT_EQ(ran.code, 2) << option;
    EXPECT_THAT(ran.err, HasSubstr("--compile"));
  }
}

TEST_F(BundleCommands, WrongSamplingOptionsAreNamedByOption) {
  for (const auto& [option, value] :
       {std::pair("--temperature", "0"), std::pair("--temperature", "nan"), std::pair("--top-p", "1.5"),
        std::pair("--top-p", "-1"), std::pair("--repetition-penalty", "inf"), std::pair("--seed", "2147483648")}) {
    const Ran ran = precast_.run(hello(tiny(), {option, value}));
    EXPECT_EQ(ran.code, 2) << option << " " << value;
    EXPECT_THAT(ran.err, HasSubstr(option));
  }
  for (const char* option : {"--system", "--stop"}) {
    const Ran ran = precast_.run({"generate", tiny().native(), "-p", "hello", option, "\xff"});
    EXPECT_EQ(ran.code, 2) << option;
    EXPECT_THAT(ran.err, HasSubstr(std::string(option) + " is not UTF-8"));
  }
}

TEST_F(BundleCommands, AReportGoesToTheUsersStateFolderUnderANewName) {
  for (int i = 1; i <= 2; ++i) {
    const Ran ran = precast_.run(perf(tiny()));
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr("report: '" + (folder_ / "state/precast/perf/tiny/").native()));
    EXPECT_EQ(default_reports().size(), static_cast<std::size_t>(i));
  }
  for (const stdfs::path& report : default_reports()) {
    EXPECT_THAT(report.filename().native(), MatchesRegex("[0-9]+-[0-9]+(-2)?[.]json"));
    const json document = json::parse(read_file(report));
    EXPECT_EQ(document["benchmark_info"]["runtime"], "genai");
    EXPECT_EQ(document["requests"].size(), 3U);
    EXPECT_EQ(document["aggregate"]["timed_request_count"], 2);
    EXPECT_EQ(document["aggregate"]["warmup_request_count"], 1);
  }
}

TEST_F(BundleCommands, ANamedReportIsNotReplacedUnasked) {
  const stdfs::path report = folder_ / "new" / "report.json";
  ASSERT_EQ(precast_.run(perf(tiny(), {"-o", report.native()})).code, 0);
  const std::string before = read_file(report);
  expect_error(perf(tiny(), {"-o", report.native()}), 2, {"report.json' exists already"});
  EXPECT_EQ(read_file(report), before);
  EXPECT_EQ(precast_.run(perf(tiny(), {"-o", report.native(), "--overwrite"})).code, 0);
  EXPECT_NE(read_file(report), before);
  EXPECT_EQ(default_reports().size(), 0U);
}

TEST_F(BundleCommands, EachFormatIsOnStdoutAlone) {
  const json document = json::parse(precast_.run(perf(tiny(), {"-f", "json"})).out, nullptr, false);
  ASSERT_FALSE(document.is_discarded());
  EXPECT_EQ(document["schema_version"], 2);
  EXPECT_THAT(precast_.run(perf(tiny(), {"-f", "csv"})).out, StartsWith("schema_version,benchmark_info.runtime,"));
  EXPECT_THAT(precast_.run(perf(tiny(), {"-f", "md"})).out, StartsWith("| model |"));
  const Ran text = precast_.run(perf(tiny(), {"-f", "text"}));
  EXPECT_THAT(text.out, HasSubstr("TTFT"));
  EXPECT_EQ(text.code, 0);
  expect_error(perf(tiny(), {"-f", "yaml"}), 2, {"--format"});
  const json wrapped = precast_.json(perf(tiny()));
  EXPECT_EQ(wrapped["command"], "perf");
  EXPECT_TRUE(stdfs::exists(wrapped["report_path"].get<std::string>()));
}

TEST_F(BundleCommands, OptionsOfSingleModelsAreIgnoredInOneWarning) {
  const Ran ran = precast_.run(perf(tiny(), {"--dim", "n=1", "--check", "--duration", "3", "--batch-size", "2",
                                             "--ep-options", "a=b", "--shape-config", "f", "--op-tracing"}));
  EXPECT_EQ(ran.code, 0) << ran.err;
  std::size_t warnings = 0;
  for (std::size_t at = 0; (at = ran.err.find("warning:", at)) != std::string::npos; ++at) ++warnings;
  EXPECT_EQ(warnings, 1U) << ran.err;
  for (const char* option : {"--dim", "--check", "--duration", "--batch-size", "--ep-options", "--shape-config"}) {
    EXPECT_THAT(ran.err, HasSubstr(option));
  }
  const Ran without = precast_.run(perf(tiny()));
  EXPECT_EQ(without.err.find("warning:"), std::string::npos) << without.err;
}

TEST_F(BundleCommands, PerfRefusesWhatIsNoBundle) {
  expect_error({"perf", (tiny() / "context.onnx").native(), "--runtime", "genai"}, 2, {"is no bundle"});
  expect_error({"perf", folder_.path().native()}, 2, {"has no genai_config.json"});
  expect_error({"perf", tiny().native(), "--input-data", "x.npz"}, 2, {"--input-data"});
  expect_error({"perf"}, 2, {"nothing to measure"});
  EXPECT_EQ(default_reports().size(), 0U);
}

TEST_F(BundleCommands, AMadeUpPromptHasExactlySoManyTokens) {
  for (const int count : {1, 16, 33}) {
    const json report = measure(tiny(), {"--prompt-tokens", std::to_string(count)});
    EXPECT_EQ(report["benchmark_info"]["prompt_tokens"], count);
    for (const json& request : report["requests"]) EXPECT_EQ(request["prompt_tokens"], count);
  }
}

TEST_F(BundleCommands, AnEarlyEndCountsWhatReallyCame) {
  const stdfs::path ends = make_bundle(folder_ / "ends", {"--eos-after", "3"});
  const std::vector<std::string> prompt{"--prompt", "hello the world", "--no-apply-template"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.end(), prompt.begin(), prompt.end());
    std::vector<std::string> arguments{"perf", ends.native(), "--iterations", "2", "--warmup", "1"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return precast_.json(arguments)["report"];
  };
  const json report = with({"--max-new-tokens", "128"});
  ASSERT_EQ(report["requests"].size(), 3U) << report.dump(2);
  for (const json& request : report["requests"]) {
    EXPECT_EQ(request["generated_tokens"], 3);
    EXPECT_EQ(request["finish_reason"], "eos");
    EXPECT_EQ(request["decode_token_durations_ms"].size(), 2U);
  }
  EXPECT_EQ(report["benchmark_info"]["generated_tokens"], 3);
  for (const json& request : with({"--max-new-tokens", "20", "--ignore-eos"})["requests"]) {
    EXPECT_EQ(request["generated_tokens"], 20);
    EXPECT_EQ(request["finish_reason"], "length");
  }
}

TEST_F(BundleCommands, OneTokenHasNoTimePerLaterToken) {
  const json report =
      precast_.json({"perf", tiny().native(), "--iterations", "1", "--warmup", "0", "--max-new-tokens", "1"})["report"];
  ASSERT_EQ(report["requests"].size(), 1U);
  const json& request = report["requests"][0];
  EXPECT_TRUE(request.contains("steady_state_tpot_ms"));
  EXPECT_TRUE(request["steady_state_tpot_ms"].is_null());
  EXPECT_TRUE(request["steady_state_decode_tokens_per_second"].is_null());
  EXPECT_GT(request["model_ttft_duration_ms"], 0);
  EXPECT_GT(request["prefill_tokens_per_second"], 0);
}

TEST_F(BundleCommands, InterruptedPerfReportsWhatItMeasured) {
  const stdfs::path report = folder_ / "report.json";
  const auto running = precast_.start({"perf", tiny().native(), "--iterations", "1000000", "--warmup", "0",
                                       "--max-new-tokens", "4", "-o", report.native()});
  const auto measuring = [&] {
    for (const auto& entry : stdfs::directory_iterator(precast_.scratch())) {
      if (!entry.path().filename().native().starts_with("err-")) continue;
      if (read_file(entry.path()).find("request 1 of") != std::string::npos) return true;
    }
    return false;
  };
  for (int i = 0; i < 3000 && !measuring(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  ASSERT_TRUE(measuring());
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  running->signal(SIGINT);
  const Ran ran = running->wait(std::chrono::seconds(60));
  EXPECT_EQ(ran.code, 130) << ran.err;
  const json document = json::parse(read_file(report), nullptr, false);
  ASSERT_FALSE(document.is_discarded());
  EXPECT_GT(document["requests"].size(), 0U);
  EXPECT_LT(document["requests"].size(), 1000000U);
  EXPECT_EQ(document["aggregate"]["timed_request_count"], document["requests"].size());
  EXPECT_EQ(document["benchmark_info"]["iterations"], 1000000);
}

TEST_F(BundleCommands, CompileSaysWhatBecameOfEachStage) {
  const stdfs::path bundle = on_fake();
  for (const char* outcome : {"compiled", "hit"}) {
    int code = -1;
    const json document = precast_.json(posing({"compile", bundle.native()}), &code);
    EXPECT_EQ(code, 0) << document.dump(2);
    ASSERT_EQ(document["results"].size(), 4U);
    EXPECT_EQ(document["results"][0]["outcome"], "nothing_to_compile");
    EXPECT_EQ(document["results"][0]["stage"], "embeddings");
    const json& context = document["results"][1];
    EXPECT_EQ(context["outcome"], outcome);
    EXPECT_EQ(context["key"].get<std::string>().size(), 64U);
    EXPECT_TRUE(stdfs::exists(context["path"].get<std::string>()));
    EXPECT_TRUE(context.contains("timings_ms"));
    EXPECT_TRUE(document["published"].is_null());
    const stdfs::path path = document["bundle_path"].get<std::string>();
    EXPECT_TRUE(stdfs::exists(path / "precast/1-context/model.onnx")) << path;
    EXPECT_TRUE(stdfs::exists(path / "tokenizer.json"));
  }
}

TEST_F(BundleCommands, ABundleWithoutEpsHasNothingToCompile) {
  int code = -1;
  const json document = precast_.json({"compile", tiny().native(), "-o", (folder_ / "out").native()}, &code);
  EXPECT_EQ(code, 5) << document.dump(2);
  ASSERT_EQ(document["results"].size(), 4U);
  for (const json& result : document["results"]) EXPECT_EQ(result["outcome"], "nothing_to_compile");
  EXPECT_FALSE(stdfs::exists(folder_ / "out"));
  const Ran text = precast_.run({"compile", tiny().native(), "-o", (folder_ / "out").native()});
  EXPECT_THAT(text.err, HasSubstr("provider_options in genai_config.json"));
  const stdfs::path flat = copy_bundle("tiny-decoder", folder_ / "flat");
  EXPECT_THAT(precast_.run({"compile", flat.native(), "-o", (folder_ / "out").native()}).err, HasSubstr("--ep NAME"));
}

TEST_F(BundleCommands, WhatIsPublishedWithoutTheCacheIsWhole) {
  const stdfs::path bundle = on_fake();
  const stdfs::path out = folder_ / "out";
  int code = -1;
  const json document = precast_.json(posing({"compile", bundle.native(), "--no-cache", "-o", out.native()}), &code);
  EXPECT_EQ(code, 0) << document.dump(2);
  EXPECT_EQ(document["published"], out.native());
  EXPECT_EQ(document["bundle_path"], out.native());
  EXPECT_EQ(document["running_path"], out.native()) << "a private folder is gone by now";
  EXPECT_EQ(outcomes_of(document)["context"], "uncached") << "as for a single model";
  EXPECT_FALSE(stdfs::exists(precast_.store() / "generations"));
  stdfs::remove_all(bundle);
  stdfs::rename(out, folder_ / "moved");
  const std::size_t compiles = count_events(precast_.trace(), "compile_begin");
  const json answer = precast_.json(posing(hello(folder_ / "moved")), &code);
  EXPECT_EQ(code, 0) << answer.dump(2);
  EXPECT_EQ(tokens_of(answer), tiny_tokens());
  EXPECT_EQ(count_events(precast_.trace(), "compile_begin"), compiles);
  for (const auto& entry : stdfs::directory_iterator(precast_.scratch())) {
    EXPECT_THAT(entry.path().filename().native(), Not(HasSubstr("precast-"))) << "left in TMPDIR";
  }
}

TEST_F(BundleCommands, AFailedStageReplacesNoWholePublishedBundle) {
  const stdfs::path bundle = on_fake();
  const stdfs::path out = folder_ / "out";
  const auto to = [&] { return posing({"compile", bundle.native(), "-o", out.native(), "--overwrite"}); };
  ASSERT_EQ(precast_.run(to()).code, 0);
  const std::string config = read_file(out / "genai_config.json");
  give_ep(bundle, "iterator", "QNN", {{"soc_model", "60"}, {"htp_arch", "73"}, {"fault", "missing_binary"}});
  const Ran ran = precast_.run(to());
  EXPECT_EQ(ran.code, 1) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("stays as it was"));
  EXPECT_EQ(read_file(out / "genai_config.json"), config);
  int code = -1;
  const json document = precast_.json(to(), &code);
  EXPECT_EQ(document["published"], nullptr);
  EXPECT_EQ(tokens_of(precast_.json(posing(hello(out)))), tiny_tokens());
}

TEST_F(BundleCommands, ABundleIsPublishedOnlyWhereNothingIsLost) {
  const stdfs::path bundle = on_fake();
  const auto to = [&](const stdfs::path& output, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"compile", bundle.native(), "-o", output.native()});
    return posing(std::move(more));
  };
  stdfs::create_directories(folder_ / "foreign");
  write_file(folder_ / "foreign" / "letter", "dear");
  for (const auto& more : {std::vector<std::string>{}, {"--overwrite"}}) {
    expect_error(to(folder_ / "foreign", more), 2, {"is not empty, and precast did not publish a bundle there"});
    expect_error(to(bundle / "out", more), 2, {"the bundle"});
    expect_error(to(bundle, more), 2, {"the bundle"});
    expect_error(to(precast_.store() / "out", more), 2, {"the cache"});
  }
  EXPECT_EQ(read_file(folder_ / "foreign" / "letter"), "dear");
  stdfs::create_directories(folder_ / "target");
  stdfs::create_directory_symlink(folder_ / "target", folder_ / "link");
  expect_error(to(folder_ / "link"), 2, {"is a link"});
  write_file(folder_ / "file", "x");
  expect_error(to(folder_ / "file"), 2, {"is not a folder"});
  EXPECT_EQ(count_events(precast_.trace(), "compile_begin"), 0U) << "compiled in vain";
}

TEST_F(BundleCommands, OnlyAnUnchangedPublishedFolderIsReplaced) {
  const stdfs::path bundle = on_fake();
  const stdfs::path out = folder_ / "out";
  const auto to_out = [&](std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"compile", bundle.native(), "-o", out.native()});
    return posing(std::move(more));
  };
  ASSERT_EQ(precast_.run(to_out()).code, 0);
  const Ran again = precast_.run(to_out());
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_THAT(again.err, HasSubstr("published before"));
  write_file(bundle / "tokenizer_config.json", read_file(bundle / "tokenizer_config.json") + " ");
  expect_error(to_out(), 2, {"has another bundle that precast published"});
  const Ran replaced = precast_.run(to_out({"--overwrite"}));
  EXPECT_EQ(replaced.code, 0) << replaced.err;
  EXPECT_EQ(read_file(out / "tokenizer_config.json"), read_file(bundle / "tokenizer_config.json"));
  write_file(out / "notes.txt", "mine");
  expect_error(to_out({"--overwrite"}), 2, {"notes.txt"});
  EXPECT_EQ(read_file(out / "notes.txt"), "mine");
  stdfs::remove(out / "notes.txt");
  write_file(out / "tokenizer.json", "{}");
  expect_error(to_out({"--overwrite"}), 2, {"tokenizer.json"});
  for (const auto& entry : stdfs::directory_iterator(folder_.path())) {
    EXPECT_THAT((std::vector<std::string>{"bundle", "out"}), IsSupersetOf({entry.path().filename().native()}));
  }
}

TEST_F(BundleCommands, OptionsOfModelsAreRefusedForABundle) {
  const std::string bundle = tiny().native();
  expect_error({"compile", bundle, "--ep-options", "a=b"}, 2, {"--ep-options is for models"});
  expect_error({"compile", bundle, "--session-options", "a=b"}, 2, {"--session-options is for models"});
  expect_error({"compile", bundle, "--output-dir", (folder_ / "out").native()}, 2, {"--output-dir"});
  expect_error({"compile", bundle, bundle}, 2, {"a bundle is compiled alone"});
  expect_error({"compile", bundle, "--no-cache"}, 2, {"--no-cache would keep nothing"});
}

}  // namespace
}  // namespace precast::testing
