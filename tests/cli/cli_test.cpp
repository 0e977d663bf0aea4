// The command line: one contract for people and machines.
#include <algorithm>
#include <csignal>
#include <map>
#include <set>
#include <thread>

#include <sys/mman.h>
#include <sys/stat.h>

#include <fcntl.h>
#include <gmock/gmock.h>

#include "model_generator/model_generator.hpp"
#include "process/descriptor_posix.hpp"
#include "store/store.hpp"
#include "support/models.hpp"
#include "support/program.hpp"

namespace precast::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
namespace stdfs = std::filesystem;

class Cli : public ::testing::Test {
 protected:
  stdfs::path tiny(const std::string& name = "tiny.onnx", std::uint64_t seed = 1) {
    return make_model(folder_ / name, {.output = {}, .seed = seed});
  }
  // With its weights in ext.data.
  stdfs::path external() { return make_model(folder_ / "ext.onnx", {.output = {}, .external = true}); }
  // The error names what it is about, in words and in JSON, with that exit code.
  void expect_error(const std::vector<std::string>& arguments, int code, const std::string& words) {
    SCOPED_TRACE(::testing::PrintToString(arguments));
    const Ran text = precast_.run(arguments);
    EXPECT_EQ(text.code, code) << text.err;
    EXPECT_THAT(text.err, HasSubstr(words));
    EXPECT_EQ(text.out, "");
    auto with_json = arguments;
    with_json.insert(with_json.begin(), "--json");
    const Ran json = precast_.run(with_json);
    EXPECT_EQ(json.code, code);
    EXPECT_THAT(json.json()["error"].value("message", ""), HasSubstr(words)) << json.out;
    EXPECT_EQ(json.json()["schema_version"], 1);
  }

  // On a private generation, with the script as the program.
  [[nodiscard]] std::vector<std::string> exec_private(const stdfs::path& model, const std::string& script) {
    return {"--ep-library", "fake_ep=" + fake_ep_library().native(),
            "resolve",      model.native(),
            "--ep",         "fake_ep",
            "--no-cache",   "--exec",
            "--",           "/bin/sh",
            "-c",           script};
  }

  Precast precast_;
  Folder folder_;
};

TEST_F(Cli, HelpHasExamplesAndLoadsNoRuntime) {
  precast_.env["LD_DEBUG"] = "files";
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"--help"},
                                                    {"compile", "--help"},
                                                    {"resolve", "--help"},
                                                    {"cache", "--help"},
                                                    {"eps", "--help"},
                                                    {"doctor", "--help"}}) {
    const Ran ran = precast_.run(arguments);
    EXPECT_EQ(ran.code, 0);
    EXPECT_THAT(ran.out, HasSubstr("Examples:\n  "));
    EXPECT_THAT(ran.err, Not(HasSubstr("libonnxruntime")));
  }
}

TEST_F(Cli, VersionNamesWhatIsThereAndDoesNotFailWithout) {
  const Ran ran = precast_.run({"--version"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(ran.out, StartsWith("precast 0.1.0\nONNX Runtime 1."));
  const Ran without = precast_.run({"--version", "--ort-library", "/nowhere/libonnxruntime.so"});
  EXPECT_EQ(without.code, 0);
  EXPECT_THAT(without.out, HasSubstr("ONNX Runtime: not found"));
}

TEST_F(Cli, UsageErrorsAreOneObjectToo) {
  expect_error({"frobnicate"}, 2, "frobnicate");
  expect_error({"compile"}, 2, "MODEL");
  expect_error({"compile", "x.onnx", "--device", "tpu"}, 2, "tpu");
  expect_error({"compile", "x.onnx", "--ep-options", "novalue"}, 2, "--ep-options 'novalue'");
  expect_error({"compile", "x.onnx", "--compile-timeout", "soon"}, 2, "--compile-timeout 'soon'");
  expect_error({"resolve", "x.onnx", "--exec"}, 2, "--exec");
  ASSERT_EQ(precast_.run(precast_.fake({"compile", tiny().native()})).code, 0);  // now there is a store
  expect_error({"cache", "show", "zz"}, 2, "zz");
}

TEST_F(Cli, NoOptionTakesAnEmptyValue) {
  const std::vector<std::vector<std::string>> commands{{"generate", "bundle", "-p", "x", "--top-k"},
                                                       {"generate", "bundle", "-p", "x", "--min-new-tokens"},
                                                       {"generate", "bundle", "-p", "x", "--seed"},
                                                       {"generate", "bundle", "-p", "x", "--temperature"},
                                                       {"generate", "bundle", "--prompt"},
                                                       {"chat", "bundle", "--top-p"},
                                                       {"perf", "bundle", "--warmup"},
                                                       {"perf", "bundle", "--iterations"},
                                                       {"perf", "bundle", "--prompt-tokens"},
                                                       {"perf", "bundle", "--prompt"},
                                                       {"perf", "bundle", "--context-length"},
                                                       {"perf", "bundle", "--output"},
                                                       {"run", "x.onnx", "--seed"},
                                                       {"run", "x.onnx", "--batch-size"},
                                                       {"run", "x.onnx", "--dim"},
                                                       {"compile", "x.onnx", "--jobs"},
                                                       {"compile", "x.onnx", "--ep"},
                                                       {"compile", "x.onnx", "--lock-timeout"},
                                                       {"resolve", "x.onnx", "--optimization-level"},
                                                       {"cache", "ls", "--keep"},
                                                       {"cache", "ls", "--cache-dir"}};
  for (std::vector<std::string> arguments : commands) {
    const std::string option = arguments.back();
    arguments.emplace_back();
    expect_error(arguments, 2, option + ": the value is empty");
  }
}

TEST_F(Cli, ABundleIsNoModelAndTheErrorNamesWhatTakesOne) {
  const stdfs::path bundle = folder_ / "bundle";
  stdfs::create_directory(bundle);
  write_file(bundle / "genai_config.json", "{}");
  for (const char* command : {"run", "resolve", "inspect"}) {
    for (const stdfs::path& path : {bundle, bundle / "genai_config.json"}) {
      expect_error({command, path.native()}, 2, "'" + path.native() + "' is a language-model bundle");
      const std::string hint = precast_.json({command, path.native()})["error"].value("hint", "");
      for (const char* other : {"compile", "generate", "chat", "perf"}) EXPECT_THAT(hint, HasSubstr(other));
    }
    const stdfs::path missing = folder_ / "missing" / "genai_config.json";
    EXPECT_THAT(precast_.run({command, missing.native()}).err, Not(HasSubstr("bundle")));
  }
  EXPECT_THAT(precast_.run({"--help"}).out, HasSubstr("precast generate bundle -p"));
}

TEST_F(Cli, EveryBadModelHasItsOwnMessage) {
  write_file(folder_ / "empty.onnx", "");
  write_file(folder_ / "garbage.onnx", "this is no model at all");
  write_file(folder_ / "cut.onnx", read_file(tiny()).substr(0, 200));
  stdfs::create_directory(folder_ / "folder.onnx");
  ASSERT_EQ(::mkfifo((folder_ / "fifo.onnx").c_str(), 0600), 0);
  std::set<std::string> messages;
  for (const char* name : {"missing.onnx", "empty.onnx", "garbage.onnx", "folder.onnx", "fifo.onnx", "cut.onnx"}) {
    const stdfs::path path = folder_ / name;
    expect_error(precast_.fake({"compile", path.native()}), 2, path.native());
    std::string message = precast_.run(precast_.fake({"compile", path.native()})).err;
    const std::size_t at = message.find(name);
    if (at != std::string::npos) message.erase(at, std::string(name).size());
    EXPECT_TRUE(messages.insert(message).second) << "said twice: " << message;
  }
  EXPECT_FALSE(stdfs::exists(precast_.trace())) << "an EP was loaded for a bad model";
}

TEST_F(Cli, MissingAndShortExternalDataNameTheFile) {
  const auto model = external();
  const std::string data = read_file(folder_ / "ext.data");
  write_file(folder_ / "ext.data", data.substr(0, data.size() / 2));
  expect_error(precast_.fake({"compile", model.native()}), 2, "ext.data");
  stdfs::remove(folder_ / "ext.data");
  expect_error(precast_.fake({"compile", model.native()}), 2, "ext.data");
}

TEST_F(Cli, AnEpThatIsNotThereIsExitThree) {
  expect_error({"compile", tiny().native(), "--ep", "vitisai"}, 3, "VitisAIExecutionProvider");
  expect_error({"compile", tiny().native(), "--ep", "nonsense"}, 2, "nonsense");
  expect_error({"compile", tiny().native(), "--ep", "fake_ep", "--ep-library", "fake_ep=/nowhere/lib.so"}, 2,
               "/nowhere/lib.so");
  expect_error({"compile", tiny().native(), "--ort-library", "/nowhere/ort.so"}, 2, "/nowhere/ort.so");
}

TEST_F(Cli, ARepeatableOptionTakesOneValueAndLeavesTheModelsAlone) {
  const auto json = precast_.json(precast_.fake({"compile", "--ep-options", "a=1", "--ep-options", "b=2",
                                                 tiny("a.onnx", 1).native(), tiny("b.onnx", 2).native()}));
  EXPECT_EQ(json["results"].size(), 2U) << json.dump(2);
}

TEST_F(Cli, CompileJsonHasEveryField) {
  const auto json = precast_.json(precast_.fake({"compile", tiny().native()}));
  for (const char* field :
       {"schema_version", "precast_version", "command", "outcome", "reason", "key", "generation", "path", "published",
        "ep", "ep_version", "ep_source", "device", "target", "artifacts", "timings_ms"}) {
    EXPECT_TRUE(json.contains(field)) << field;
  }
  EXPECT_EQ(json["outcome"], "compiled");
  EXPECT_EQ(json["command"], "compile");
  EXPECT_EQ(json["ep"], "fake_ep");
  EXPECT_EQ(json["ep_source"], "explicit");
  EXPECT_EQ(json["ep_version"], "1.0.0");
  EXPECT_EQ(json["device"], "cpu");
  EXPECT_EQ(json["key"].get<std::string>().size(), 64U);
  for (const char* field : {"startup", "ep_registration", "identity", "lookup", "lock_wait", "compile", "check",
                            "store", "publish", "session_open", "total"}) {
    EXPECT_TRUE(json["timings_ms"].contains(field)) << field;
  }
  for (const auto& artifact : json["artifacts"]) EXPECT_EQ(artifact["sha256"].get<std::string>().size(), 64U);
}

TEST_F(Cli, OutputOfTheEpNeverReachesStdout) {
  precast_.env["FAKE_EP_FAULT"] = "flood=1@load";
  const auto model = tiny();
  for (const char* outcome : {"compiled", "hit"}) {
    const auto json = precast_.json(precast_.fake({"resolve", model.native(), "--open"}));
    EXPECT_EQ(json["outcome"], outcome);
  }
}

TEST_F(Cli, ResolvePrintsThePathAlone) {
  const auto model = tiny();
  const Ran miss = precast_.run(precast_.fake({"resolve", model.native()}));
  EXPECT_EQ(miss.code, 0);
  const Ran hit = precast_.run(precast_.fake({"resolve", model.native()}));
  EXPECT_EQ(hit.out, miss.out);
  EXPECT_THAT(hit.out, HasSubstr("/generations/"));
  EXPECT_EQ(hit.out.back(), '\n');
  EXPECT_TRUE(stdfs::exists(hit.out.substr(0, hit.out.size() - 1)));
  EXPECT_EQ(hit.err, "");
}

TEST_F(Cli, ResolveFallsBackToTheSourceWithOneWarning) {
  precast_.env["FAKE_EP_FAULT"] = "fail@compile";
  const auto model = tiny();
  const Ran ran = precast_.run(precast_.fake({"resolve", model.native()}));
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.out, model.native() + "\n");
  EXPECT_THAT(ran.err, HasSubstr("warning"));
  for (const char* flag : {"--require-compiled", "--strict"}) {
    const Ran strict = precast_.run(precast_.fake({"resolve", model.native(), flag}));
    EXPECT_EQ(strict.code, 1) << flag;
    EXPECT_EQ(strict.out, "") << flag;
  }
  EXPECT_EQ(precast_.run({"resolve", model.native(), "--ep", "cpu", "--require-compiled"}).code, 5);
}

TEST_F(Cli, ExitCodesOfCompile) {
  precast_.env["FAKE_EP_FAULT"] = "fail@compile";
  EXPECT_EQ(precast_.run(precast_.fake({"compile", tiny("a.onnx", 1).native()})).code, 1);
  precast_.env["FAKE_EP_FAULT"] = "hang@compile";
  EXPECT_EQ(precast_.run(precast_.fake({"compile", tiny("b.onnx", 2).native(), "--compile-timeout", "1s"})).code, 6);
  precast_.env.erase("FAKE_EP_FAULT");
  EXPECT_EQ(precast_.run({"compile", tiny().native(), "--ep", "cpu"}).code, 5);
  EXPECT_EQ(precast_.run(precast_.fake({"compile", tiny("c.onnx", 3).native()})).code, 0);
}

TEST_F(Cli, AStoreThatCannotWorkIsOneWarningAndAnErrorUnderStrict) {
  const auto model = tiny();
  write_file(folder_ / "file", "");
  precast_.env["PRECAST_CACHE_DIR"] = (folder_ / "file").native();
  const Ran ran = precast_.run(precast_.fake({"resolve", model.native(), "--json"}));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.json()["outcome"], "uncached");
  EXPECT_EQ(ran.json()["path"], model.native());
  EXPECT_THAT(ran.err, HasSubstr("warning: running without the cache"));
  EXPECT_EQ(precast_.run(precast_.fake({"resolve", model.native(), "--strict"})).code, 7);
}

TEST_F(Cli, CacheCommandsShowWhatIsStored) {
  const auto model = tiny();
  EXPECT_THAT(precast_.run({"cache", "path"}).out, HasSubstr(precast_.store().native()));
  EXPECT_EQ(precast_.json({"cache", "ls"})["entries"].size(), 0U);
  const auto compiled = precast_.json(precast_.fake({"compile", model.native()}));
  const auto listing = precast_.json({"cache", "ls"});
  const auto& entries = listing["entries"];
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_GT(listing["total_bytes"], 0);
  EXPECT_EQ(listing["total_bytes"], entries[0]["bytes"]);
  for (const char* field : {"key", "generation", "model", "ep", "device", "bytes", "created", "last_used"}) {
    EXPECT_TRUE(entries[0].contains(field)) << field;
  }
  EXPECT_EQ(entries[0]["key"], compiled["key"]);
  EXPECT_EQ(entries[0]["model"], model.native());
  const Ran listed = precast_.run({"cache", "ls"});
  EXPECT_THAT(listed.out, HasSubstr(compiled["key"].get<std::string>().substr(0, 12)));
  EXPECT_THAT(listed.err, StartsWith("1 entry, "));
  const auto shown = precast_.json({"cache", "show", compiled["key"].get<std::string>().substr(0, 8)});
  EXPECT_EQ(shown["key"], compiled["key"]);
  EXPECT_TRUE(shown["identity"].contains("source"));
  EXPECT_EQ(shown["artifacts"], compiled["artifacts"]);
  const auto verify = precast_.json({"cache", "verify"});
  EXPECT_EQ(verify["ok"], true);
  EXPECT_EQ(precast_.run({"cache", "show", "0000"}).code, 2);
}

TEST_F(Cli, EpsListsWhatIsHereAndWhyAnEpIsNot) {
  write_file(folder_ / "libnot_an_ep.so", "no library");
  const auto json = precast_.json({"eps", "--ep-library", "fake_ep=" + fake_ep_library().native(), "--ep-library",
                                   "broken=" + (folder_ / "libnot_an_ep.so").native()});
  std::map<std::string, nlohmann::json> eps;
  for (const auto& ep : json["eps"]) eps[ep["name"]] = ep;
  EXPECT_EQ(eps["fake_ep"]["source"], "explicit");
  EXPECT_EQ(eps["fake_ep"]["devices"].size(), 1U);
  EXPECT_FALSE(eps["broken"]["error"].is_null());
  EXPECT_EQ(eps["CPUExecutionProvider"]["epcontext"], false);
  EXPECT_EQ(eps["OpenVINOExecutionProvider"]["source"], "bundled");
  EXPECT_EQ(eps["QNNExecutionProvider"]["source"], "bundled");
}

TEST_F(Cli, DoctorSaysWhatIsWrongAndWhatToDo) {
  precast_.env["PRECAST_ASSUME_CPU_VENDOR"] =
      "intel";  // else OpenVINO offers nothing on another CPU, and doctor says so
  int code = -1;
  const auto good = precast_.json({"doctor"}, &code);
  EXPECT_EQ(code, 0) << good.dump(2);
  const auto bad = precast_.json({"doctor", "--ort-library", "/nowhere/libonnxruntime.so"}, &code);
  EXPECT_EQ(code, 1);
  EXPECT_EQ(bad["checks"][0]["ok"], false);
  EXPECT_FALSE(bad["checks"][0]["hint"].is_null());
  precast_.env["PRECAST_WORKER"] = "/nowhere/worker";
  EXPECT_THAT(precast_.json({"doctor"}, &code)["checks"].dump(), HasSubstr("/nowhere/worker"));
  EXPECT_EQ(code, 1);
  precast_.env["PRECAST_WORKER"] = "/bin/true";
  EXPECT_THAT(precast_.json({"doctor"}, &code)["checks"].dump(), HasSubstr("says it is 'true (GNU coreutils)"));
  EXPECT_EQ(code, 1);
  precast_.env["PRECAST_WORKER"] = "/bin/false";
  EXPECT_THAT(precast_.json({"doctor"}, &code)["checks"].dump(), HasSubstr("does not run: exit code 1"));
}

TEST_F(Cli, AWorkerOfAnotherVersionOrNoneIsAnErrorNotACompileInProcess) {
  precast_.env["PRECAST_WORKER"] = "/nowhere/worker";
  const Ran ran = precast_.run(precast_.fake({"compile", tiny().native()}));
  EXPECT_EQ(ran.code, 2) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("/nowhere/worker"));
  EXPECT_EQ(count_events(precast_.trace(), "compile_begin"), 0U);
}

TEST_F(Cli, NoColoursWhereNoTerminalIs) {
  const Ran ran = precast_.run({"compile", "/nowhere.onnx"});
  EXPECT_THAT(ran.err, Not(HasSubstr("\x1b")));
}

TEST_F(Cli, OddNamesWork) {
  for (const char* name :
       {"with blank.onnx", "-dash.onnx", "naïve 模型.onnx", "quote'\".onnx", "new\nline.onnx", "bad\xff.onnx"}) {
    (void)tiny(name);
    precast_.working_directory = folder_.path();
    const auto json = precast_.json(precast_.fake({"compile", "./" + std::string(name)}));
    EXPECT_TRUE(json["outcome"] == "compiled" || json["outcome"] == "hit") << json.dump(2);
  }
}

TEST_F(Cli, QuietSaysNothingWhenAllIsWell) {
  const Ran ran = precast_.run(precast_.fake({"-q", "compile", tiny().native()}));
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.out + ran.err, "");
}

TEST_F(Cli, ACompileThatTakesLongerThanASecondSaysSoAndThenHowLong) {
  precast_.env["FAKE_EP_FAULT"] = "slow=2500@compile";
  const auto model = tiny();
  const Ran first = precast_.run(precast_.fake({"compile", model.native()}));
  EXPECT_THAT(first.err, HasSubstr("... compiling '" + model.native() + "' (1"));
  EXPECT_THAT(first.err, HasSubstr(" s so far)\n"));
  const Ran second = precast_.run(precast_.fake({"compile", model.native(), "--rebuild"}));
  EXPECT_THAT(second.err, HasSubstr("about 2"));
}

TEST_F(Cli, AnEmptyPathIsBadInputAmongOthersToo) {
  expect_error(precast_.fake({"resolve", ""}), 2, "''");
  const auto json = precast_.json(precast_.fake({"compile", "", tiny().native()}));
  EXPECT_EQ(json["results"][0]["error"]["code"], "not_found") << json.dump(2);
  EXPECT_EQ(json["results"][1]["outcome"], "compiled");
}

// A closed descriptor would be the next file that is opened: the lease, which must not become stdout.
TEST_F(Cli, ClosedDescriptorsDoNotBecomeFilesOfTheStore) {
  const auto model = tiny();
  ASSERT_EQ(precast_.run(precast_.fake({"compile", model.native()})).code, 0);
  std::string command = "exec " PRECAST_BINARY_DIR "/bin/precast";
  for (const std::string& argument : precast_.fake({"resolve", model.native(), "--json"}))
    command += " '" + argument + "'";
  Running shell(precast_.scratch(), "/bin/sh", {"-c", command + " <&- >&- 2>&-"}, precast_.env);
  EXPECT_EQ(shell.wait().code, 1) << "stdout was closed";
  for (const auto& lease : stdfs::directory_iterator(precast_.store() / "leases")) {
    EXPECT_THAT(read_file(lease.path()), Not(HasSubstr("schema_version")));
  }
}

TEST_F(Cli, AFifoInTheStoreDoesNotHangAnybody) {
  const auto model = tiny();
  ASSERT_EQ(precast_.run(precast_.fake({"compile", model.native()})).code, 0);
  stdfs::remove(precast_.store() / "stats.1");
  ASSERT_EQ(::mkfifo((precast_.store() / "stats.1").c_str(), 0600), 0);
  EXPECT_EQ(precast_.json(precast_.fake({"resolve", model.native()}))["outcome"], "hit");
  EXPECT_EQ(precast_.run({"cache", "ls"}).code, 0);
}

TEST_F(Cli, AFolderOfSomebodyElsesNeverBecomesAStore) {
  write_file(folder_ / "holiday.jpg", "picture");
  precast_.env["PRECAST_CACHE_DIR"] = folder_.path().native();
  expect_error({"cache", "ls"}, 2, "holiday.jpg");
  EXPECT_FALSE(stdfs::exists(folder_ / "version"));
}

// An option that is no part of the identity must not make a compile fail that others would ask for.
TEST_F(Cli, ARunTimeOptionCannotPoisonOtherRequests) {
  const auto model = tiny();
  const auto odd = precast_.json(
      precast_.fake({"compile", model.native(), "--session-options", "session.intra_op_thread_affinities=nonsense"}));
  EXPECT_EQ(odd["outcome"], "compiled") << odd.dump(2);
  EXPECT_EQ(precast_.json(precast_.fake({"compile", model.native()}))["outcome"], "hit");
}

TEST_F(Cli, AWorkerThatIsNoneIsNotTheEpsFault) {
  precast_.env["PRECAST_WORKER"] = "/bin/true";
  const auto model = tiny();
  for (int i = 0; i < 3; ++i) {
    const Ran ran = precast_.run(precast_.fake({"compile", model.native()}));
    EXPECT_EQ(ran.code, 1);
    EXPECT_THAT(ran.err, HasSubstr("before it was ready"));
  }
  precast_.env.erase("PRECAST_WORKER");
  EXPECT_EQ(precast_.json(precast_.fake({"compile", model.native()}))["outcome"], "compiled");
}

TEST_F(Cli, AStopOfTheWorkerFromOutsideIsNotRemembered) {
  const auto model = tiny();
  precast_.env["FAKE_EP_FAULT"] = "hang@compile";
  for (std::size_t i = 1; i <= 2; ++i) {
    const auto run = precast_.start(precast_.fake({"compile", model.native()}));
    ASSERT_TRUE(wait_for_event(precast_.trace(), "hang", i));
    ASSERT_EQ(::kill(read_trace(precast_.trace()).back().pid, SIGTERM), 0);
    EXPECT_EQ(run->wait().code, 1);
  }
  precast_.env.erase("FAKE_EP_FAULT");
  EXPECT_EQ(precast_.json(precast_.fake({"compile", model.native()}))["outcome"], "compiled");
}

TEST_F(Cli, AWrongVariableIsNamedAndDoesNotStopHelp) {
  precast_.env["PRECAST_KEEP"] = "many";
  EXPECT_EQ(precast_.run({"--help"}).code, 0);
  EXPECT_EQ(precast_.run({"compile", "--help"}).code, 0);
  expect_error({"cache", "ls"}, 2, "PRECAST_KEEP='many' is not a value for --keep");
  EXPECT_EQ(precast_.run({"cache", "ls", "--keep", "2"}).code, 0) << "the command line wins";
  precast_.env["PRECAST_KEEP"] = "1";
  precast_.env["PRECAST_STRICT"] = "perhaps";
  expect_error({"cache", "ls"}, 2, "PRECAST_STRICT='perhaps'");
  precast_.env["PRECAST_STRICT"] = "1";
  precast_.env["PRECAST_CACHE_DIR"] = "/proc/nowhere";
  EXPECT_EQ(precast_.run(precast_.fake({"resolve", tiny().native()})).code, 7) << "strict by the variable";
}

TEST_F(Cli, DeclarationsOfWhatIsNotThereAreRefused) {
  const auto model = tiny();
  expect_error(precast_.fake({"compile", model.native(), "--worker-env", "A=B"}), 2, "--worker-env 'A=B'");
  expect_error(precast_.fake({"compile", model.native(), "--worker-env", ""}), 2, "--worker-env: the value");
  expect_error(precast_.fake({"compile", model.native(), "--ep-option-file", "profile"}), 2, "'profile'");
}

TEST_F(Cli, ANameWithANewlineStaysInItsLine) {
  ASSERT_EQ(precast_.run(precast_.fake({"compile", tiny("two\nlines\tand a tab.onnx").native()})).code, 0);
  const Ran ls = precast_.run({"cache", "ls"});
  EXPECT_EQ(std::ranges::count(ls.out, '\n'), 2) << ls.out;
  EXPECT_THAT(ls.out, HasSubstr("two\\nlines\\tand a tab.onnx"));
  EXPECT_THAT(precast_.json({"cache", "ls"})["entries"][0]["model"].get<std::string>(), HasSubstr("two\nlines\tand"));
  const Ran missing = precast_.run({"compile", "no\nsuch.onnx", "--ep", "cpu"});
  EXPECT_THAT(missing.err, HasSubstr("/no\\nsuch.onnx'"));
}

TEST_F(Cli, ANameThatIsTooLongIsBadInput) {
  const std::string name(300, 'x');
  expect_error(precast_.fake({"compile", (folder_ / name).native()}), 2, name);
}

TEST_F(Cli, WithoutATemporaryFolderAPrivateCompileGivesTheSource) {
  const auto model = tiny();
  precast_.env["TMPDIR"] = "/nowhere";
  const auto arguments = precast_.fake({"resolve", model.native(), "--no-cache", "--open"});
  const Ran ran = precast_.run(arguments);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, model.native() + "\n");
  EXPECT_THAT(ran.err, HasSubstr("TMPDIR"));
  auto strict = arguments;
  strict.emplace_back("--require-compiled");
  EXPECT_EQ(precast_.run(strict).code, 1);
}

// The folders of private compiles: those that somebody uses, and those whose process was killed.
std::vector<stdfs::path> private_folders(const stdfs::path& scratch) {
  std::vector<stdfs::path> folders;
  for (const auto& entry : stdfs::directory_iterator(scratch)) {
    if (entry.path().filename().string().starts_with("precast-")) folders.push_back(entry.path());
  }
  return folders;
}

TEST_F(Cli, AProgramOnAPrivateGenerationGetsSignalsAndItsEndIsOurs) {
  const auto model = tiny();
  const auto arguments = [&](const std::string& script) { return exec_private(model, script); };
  EXPECT_EQ(precast_.start(arguments("exit 42"))->wait().code, 42);
  EXPECT_EQ(precast_.start(arguments("kill -SEGV $$"))->wait().exit.signal, SIGSEGV);
  const stdfs::path ready = folder_ / "ready";
  const auto waiting =
      precast_.start(arguments("trap 'exit 43' USR1; : > '" + ready.native() + "'; while :; do sleep 0.05; done"));
  for (int i = 0; i < 600 && !stdfs::exists(ready); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(private_folders(precast_.scratch()).size(), 1U);
  ASSERT_EQ(::kill(waiting->pid(), SIGUSR1), 0);
  EXPECT_EQ(waiting->wait().code, 43);
  EXPECT_TRUE(private_folders(precast_.scratch()).empty());
}

TEST_F(Cli, APrivateGenerationOutlivesAKilledPrecastAsLongAsItsProgram) {
  const auto model = tiny();
  const stdfs::path ready = folder_ / "ready";
  const stdfs::path go = folder_ / "go";
  const auto arguments = [&](const std::string& script) { return exec_private(model, script); };
  const auto killed = precast_.start(
      arguments("echo $$ > '" + ready.native() + "'; while ! [ -e '" + go.native() + "' ]; do sleep 0.05; done"));
  for (int i = 0; i < 600 && read_file(ready).empty(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const int program = std::stoi(read_file(ready));
  ASSERT_EQ(::kill(killed->pid(), SIGKILL), 0);
  for (int i = 0; i < 100 && ::kill(killed->pid(), 0) == 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(precast_.start(arguments("true"))->wait().code, 0);
  EXPECT_EQ(private_folders(precast_.scratch()).size(), 1U) << "the program still uses it";
  write_file(go, "");
  for (int i = 0; i < 600 && ::kill(program, 0) == 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(precast_.start(arguments("true"))->wait().code, 0);
  EXPECT_TRUE(private_folders(precast_.scratch()).empty());
}

TEST_F(Cli, InterruptedWhileItWaitsItSaysForWhat) {
  const auto model = tiny();
  precast_.env["FAKE_EP_FAULT"] = "hang@compile";
  const auto compiler = precast_.start(precast_.fake({"compile", model.native()}));
  ASSERT_TRUE(wait_for_event(precast_.trace(), "hang"));
  const auto waiter = precast_.start(precast_.fake({"compile", model.native()}));
  EXPECT_TRUE(waiter->wait_for_words("waiting for pid " + std::to_string(compiler->pid())));
  waiter->signal(SIGINT);
  const Ran ran = waiter->wait();
  EXPECT_EQ(ran.code, 130);
  EXPECT_THAT(ran.err, HasSubstr("interrupted while waiting for another compile of '" + model.native() + "'"));
  compiler->signal(SIGINT);
  EXPECT_EQ(compiler->wait().code, 130);
}

TEST_F(Cli, AStoreDeletedDuringACompileIsNotTheEpsFault) {
  const auto model = tiny();
  precast_.env["FAKE_EP_FAULT"] = "slow=1500@compile";
  const auto compiler = precast_.start(precast_.fake({"compile", model.native()}));
  ASSERT_TRUE(wait_for_event(precast_.trace(), "compile_begin"));
  stdfs::remove_all(precast_.store());
  const Ran ran = compiler->wait();
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, HasSubstr("deleted meanwhile"));
  precast_.env.erase("FAKE_EP_FAULT");
  EXPECT_EQ(precast_.json(precast_.fake({"compile", model.native()}))["outcome"], "compiled");
}

TEST_F(Cli, WhatTheEpDidWrongIsSaidWithoutFoldersThatAreGone) {
  precast_.env["FAKE_EP_FAULT"] = "missing_binary";
  const Ran ran = precast_.run(precast_.fake({"compile", tiny().native()}));
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, Not(HasSubstr((precast_.store() / "tmp").native())));
}

TEST_F(Cli, DeviceMetadataThatIsNoTextIsNoDifference) {
  precast_.env["FAKE_EP_METADATA"] = "colour=bl\xff\xfe";
  const auto model = tiny();
  EXPECT_EQ(precast_.json(precast_.fake({"compile", model.native()}))["outcome"], "compiled");
  EXPECT_EQ(precast_.json(precast_.fake({"compile", model.native()}))["outcome"], "hit");
}

// EFBIG and SIGXFSZ stand for every disk that takes no more.
TEST_F(Cli, AFileThatCannotGrowIsNoSpaceAndNotRemembered) {
  const auto model = make_model(folder_ / "large.onnx",
                                {.kind = model_generator::Kind::transformer, .output = {}, .layers = 1, .hidden = 256});
  std::string command = "ulimit -f 64; exec " PRECAST_BINARY_DIR "/bin/precast";
  for (const std::string& argument : precast_.fake({"compile", model.native()})) command += " '" + argument + "'";
  Running shell(precast_.scratch(), "/bin/sh", {"-c", command}, precast_.env);
  const Ran ran = shell.wait();
  EXPECT_EQ(ran.code, 1) << ran.err;
  EXPECT_EQ(precast_.json(precast_.fake({"compile", model.native()}))["outcome"], "compiled");
}

TEST_F(Cli, ATerminalGetsColoursAndAStatusLineUnlessToldNotTo) {
  precast_.env["FAKE_EP_FAULT"] = "slow=2200@compile";
  const auto arguments = precast_.fake({"compile", tiny().native(), "/nowhere.onnx"});
  const auto screen = [&](const std::vector<std::string>& given) {
    return run_in_terminal(precast_.scratch(), "precast", given, precast_.env).err;
  };
  const std::string coloured = screen(arguments);
  EXPECT_THAT(coloured, HasSubstr("\x1b[31mprecast: error:\x1b[0m"));
  EXPECT_THAT(coloured, HasSubstr("\r\x1b[K... compiling")) << "one line that is written again";
  auto rebuild = arguments;
  rebuild.insert(rebuild.end(), {"--rebuild", "--no-color"});
  EXPECT_THAT(screen(rebuild), Not(HasSubstr("\x1b[3")));
  precast_.env["NO_COLOR"] = "1";
  rebuild.pop_back();
  EXPECT_THAT(screen(rebuild), Not(HasSubstr("\x1b[3")));
}

TEST_F(Cli, ACompileWaitsForASlotAndGivesUpAfterTheLockTimeout) {
  const auto first = tiny("first.onnx");
  ASSERT_EQ(precast_.run(precast_.fake({"compile", first.native()})).code, 0);
  auto store = store::Store::open(fs::FileSystem::posix(), {.root = precast_.store()});
  ASSERT_TRUE(store) << store.error().message;
  std::vector<fs::Lock> slots;
  fs::Lock::WaitOptions at_once;
  at_once.timeout = std::chrono::milliseconds(0);
  for (auto slot = (*store)->acquire_compile_slot(at_once); slot; slot = (*store)->acquire_compile_slot(at_once)) {
    slots.push_back(std::move(*slot));
  }
  ASSERT_FALSE(slots.empty());
  const auto other = tiny("other.onnx", 2);
  const auto json = precast_.json(precast_.fake({"resolve", other.native(), "--lock-timeout", "1s"}));
  EXPECT_EQ(json["outcome"], "uncached") << json.dump(2);
  EXPECT_THAT(json.value("reason", ""), HasSubstr("compile slots"));
  EXPECT_EQ(precast_.json(precast_.fake({"compile", first.native()}))["outcome"], "hit") << "a hit needs no slot";
  slots.pop_back();
  EXPECT_EQ(precast_.json(precast_.fake({"compile", other.native()}))["outcome"], "compiled");
}

// Stores through a mapping that was dirty before change no time stamp: only the look for writers sees them coming.
TEST_F(Cli, AModelThatSomebodyHasMappedForWritingIsNeverTrustedByItsTimes) {
  const auto model = external();
  const stdfs::path data = folder_ / "ext.data";
  const process::Descriptor file(::open(data.c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_GE(file.get(), 0);
  const std::size_t size = stdfs::file_size(data);
  void* const memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* const bytes = static_cast<volatile unsigned char*>(memory);
  bytes[0] = static_cast<unsigned char>(bytes[0] ^ 1U);
  std::this_thread::sleep_for(std::chrono::milliseconds(60));  // past the clock's granularity
  const auto first = precast_.json(precast_.fake({"compile", model.native()}));
  EXPECT_EQ(first["outcome"], "compiled") << first.dump(2);
  bytes[0] = static_cast<unsigned char>(bytes[0] ^ 2U);
  const auto second = precast_.json(precast_.fake({"compile", model.native()}));
  EXPECT_EQ(second["outcome"], "compiled") << second.dump(2);
  EXPECT_NE(second["key"], first["key"]);
  ::munmap(memory, size);
}

TEST_F(Cli, AStoredModelThatDoesNotOpenAnyMoreGivesTheSourceAndIsRemembered) {
  const auto model = tiny();
  ASSERT_EQ(precast_.run(precast_.fake({"compile", model.native()})).code, 0);
  precast_.env["FAKE_EP_FAULT"] = "refuse_load";
  const Ran ran = precast_.run(precast_.fake({"resolve", model.native(), "--open"}));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, model.native() + "\n");
  EXPECT_THAT(ran.err, HasSubstr("precast: warning: failed"));
  const std::size_t compiles = count_events(precast_.trace(), "compile_begin");
  EXPECT_EQ(precast_.run(precast_.fake({"resolve", model.native(), "--open", "--require-compiled"})).code, 1);
  EXPECT_EQ(count_events(precast_.trace(), "compile_begin"), compiles) << "remembered";
}

TEST_F(Cli, AskingForAStoreThatIsNotThereMakesNone) {
  const stdfs::path typo = folder_ / "typo";
  precast_.env["PRECAST_CACHE_DIR"] = typo.native();
  for (const char* command : {"ls", "verify"}) {
    const Ran ran = precast_.run({"cache", command});
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr("there is no store at '" + typo.native() + "' yet"));
  }
  expect_error({"cache", "show", "0000"}, 2, typo.native());
  EXPECT_THAT(precast_.run({"doctor"}).out, HasSubstr("there is no store at '" + typo.native() + "' yet"));
  EXPECT_FALSE(stdfs::exists(typo));
  stdfs::create_symlink("nowhere", typo);
  expect_error({"cache", "ls"}, 1, "is a link to something that is not there");
}

// The file that was opened is gone afterwards: its path would be no use to anybody.
TEST_F(Cli, APrivateGenerationIsOpenedButItsPathIsNotGiven) {
  const auto model = tiny();
  const auto arguments = precast_.fake({"resolve", model.native(), "--no-cache", "--open"});
  const Ran ran = precast_.run(arguments);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, model.native() + "\n");
  EXPECT_THAT(ran.err, HasSubstr("compiled and opened, but is not kept"));
  EXPECT_EQ(count_events(precast_.trace(), "compile_end"), 1U);
  const auto json = precast_.json(arguments);
  EXPECT_EQ(json["outcome"], "uncached");
  EXPECT_EQ(json["path"], model.native());
  auto required = arguments;
  required.emplace_back("--require-compiled");
  EXPECT_EQ(precast_.run(required).code, 1);
  EXPECT_EQ(precast_.run(required).out, "");
}

TEST_F(Cli, ARelativeTemporaryFolderServesPrivateCompiles) {
  const auto model = tiny();
  precast_.working_directory = folder_.path();
  precast_.env["TMPDIR"] = ".";
  const Ran ran = precast_.run(precast_.fake({"resolve", model.native(), "--no-cache", "--open"}));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("compiled and opened, but is not kept"));
}

TEST_F(Cli, UnreadableDataIsBadInputAsAnUnreadableModelIs) {
  const auto model = external();
  const stdfs::path data = folder_ / "ext.data";
  if (::geteuid() == 0) {
    // The super-user reads everything: a link that leads round in a circle stands for what cannot be opened.
    stdfs::remove(data);
    stdfs::create_symlink("ext.data", data);
  } else {
    stdfs::permissions(data, stdfs::perms::none);
  }
  expect_error(precast_.fake({"compile", model.native()}), 2, "ext.data");
}

TEST_F(Cli, WithoutOnnxRuntimeTheExitCodeSaysSo) {
  const auto model = tiny();
  const stdfs::path alone = folder_ / "bin";
  stdfs::create_directory(alone);
  stdfs::copy_file(stdfs::path(PRECAST_BINARY_DIR) / "bin" / "precast", alone / "precast");
  Running run(precast_.scratch(), (alone / "precast").native(), {"resolve", model.native(), "--ep", "openvino"},
              precast_.env);
  const Ran ran = run.wait();
  EXPECT_EQ(ran.code, 3) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("libonnxruntime.so.1"));
}

TEST_F(Cli, AnEpLibraryUnderANameThatItDoesNotTakeSaysWhichOneItTakes) {
  precast_.env["PRECAST_ASSUME_CPU_VENDOR"] = "intel";
  const stdfs::path library = stdfs::path(PRECAST_DEPS_DIR) /
                              "eps/openvino/onnxruntime_ep_openvino/libonnxruntime_providers_openvino_plugin.so";
  const Ran ran = precast_.run({"resolve", tiny().native(), "--ep", "foo", "--ep-library", "foo=" + library.native()});
  EXPECT_EQ(ran.code, 3);
  EXPECT_THAT(ran.err, HasSubstr("--ep-library OpenVINOExecutionProvider=" + library.native()));
}

TEST_F(Cli, VerboseSaysTheKeyAndWhereTheTimeWent) {
  const auto model = tiny();
  for (const char* command : {"compile", "resolve"}) {
    const Ran ran = precast_.run(precast_.fake({"-v", command, model.native()}));
    EXPECT_EQ(ran.code, 0);
    EXPECT_THAT(ran.err, HasSubstr("key "));
    EXPECT_THAT(ran.err, HasSubstr("look-up"));
    EXPECT_THAT(ran.err, HasSubstr("generation "));
  }
}

}  // namespace
}  // namespace precast::testing
