// The resolver in this process, on real ORT and the fake EP: what a hit costs, and what every outcome says.
#include <cstdlib>
#include <fstream>

#include <gmock/gmock.h>

#include "compile/support.hpp"
#include "session/prepared_session.hpp"

namespace precast::compile {
namespace {

using precast::testing::fake_ep_library;
using ::testing::HasSubstr;
using testing::ResolverTest;
namespace stdfs = std::filesystem;

TEST_F(ResolverTest, AMissThenAHit) {
  const auto path = model();
  const Resolution first = resolve(request(path));
  EXPECT_EQ(first.outcome, Outcome::compiled);
  EXPECT_THAT(first.reason, HasSubstr("no entry"));
  EXPECT_TRUE(first.lease.held());
  reopen();
  const Resolution second = resolve(request(path));
  EXPECT_EQ(second.outcome, Outcome::hit);
  EXPECT_EQ(second.reason, "");
  EXPECT_EQ(second.generation, first.generation);
  EXPECT_EQ(second.key, first.key);
  EXPECT_TRUE(second.lease.held());
  EXPECT_EQ(compiles(), 1U);
}

// Section 5.6 of the cache's rules: a warm hit reads the store's own small files and nothing else.
TEST_F(ResolverTest, AWarmHitReadsNoByteOfSourceLibrariesOrArtifacts) {
  const auto path = model();
  const Resolution first = resolve(request(path));
  ASSERT_EQ(first.outcome, Outcome::compiled);
  reopen();
  files_.reset();
  const Resolution hit = resolve(request(path));
  ASSERT_EQ(hit.outcome, Outcome::hit);
  const fs::CallCounts counts = files_.counts();
  for (const auto& [file, bytes] : counts.bytes_read) {
    // Its own small records; the manifest among them shows that the generation is the marker's.
    const bool record =
        file.extension() == ".json" || file.native().starts_with((folder_ / "store" / "facts").native());
    const bool own = file.native().starts_with((folder_ / "store").native()) && record;
    EXPECT_TRUE(own || file.native().starts_with("/proc/") || bytes == 0) << file << ": " << bytes << " bytes";
  }
  EXPECT_EQ(counts.syncs, 0U);
  EXPECT_EQ(counts.exclusive_locks, 0U);
  // Model, its data file, ORT, the fake EP, and the artifacts.
  const std::size_t files = 4 + hit.artifacts.size();
  std::string calls;
  for (const auto& [name, count] : counts.calls) calls += name + " " + std::to_string(count) + ", ";
  EXPECT_LE(counts.total(), 4 * files + 20) << calls;
}

TEST_F(ResolverTest, OtherOptionsAndEmbeddingAreOtherIdentitiesSideBySide) {
  const auto path = model();
  const Resolution plain = resolve(request(path));
  Request other = request(path);
  other.target.provider_options["output_scale"] = "2";
  const Resolution scaled = resolve(other);
  Request embedded = request(path);
  embedded.embed = true;
  const Resolution inside = resolve(embedded);
  EXPECT_EQ(scaled.outcome, Outcome::compiled);
  EXPECT_EQ(inside.outcome, Outcome::compiled);
  EXPECT_NE(plain.key, scaled.key);
  EXPECT_NE(plain.key, inside.key);
  EXPECT_EQ(inside.artifacts.size(), 1U);
  EXPECT_EQ(plain.artifacts.size(), 2U);
  EXPECT_EQ(resolve(request(path)).generation, plain.generation);
  EXPECT_EQ(resolve(other).generation, scaled.generation);
}

TEST_F(ResolverTest, ACompiledModelIsAnsweredAsItIs) {
  const Resolution compiled = resolve(request(model()));
  const Resolution again = resolve(request(compiled.path));
  EXPECT_EQ(again.outcome, Outcome::precompiled);
  EXPECT_EQ(again.path, compiled.path);
  EXPECT_EQ(compiles(), 1U);
}

TEST_F(ResolverTest, AnEpWithoutContextModelsHasNothingToCompile) {
  Request what = request(model());
  what.target.ep = "cpu";
  const Resolution resolution = resolve(what);
  EXPECT_EQ(resolution.outcome, Outcome::nothing_to_compile);
  EXPECT_EQ(resolution.path, what.model);
  EXPECT_FALSE(resolution.lease.held());
}

struct Failure {
  std::string name;
  std::string fault;
  ErrorCode code;
  std::string words;
};

class FailingCompile : public ResolverTest, public ::testing::WithParamInterface<Failure> {};

// Whatever the EP does, the source model is the answer, the reason is told, and the store stays clean.
TEST_P(FailingCompile, AnswersWithTheSourceAndItsReason) {
  const auto good = model("good.onnx");
  ASSERT_EQ(resolve(request(good)).outcome, Outcome::compiled);
  const auto path = model("bad.onnx", false);
  ::setenv("FAKE_EP_FAULT", GetParam().fault.c_str(), 1);
  Request what = request(path);
  what.compile_timeout = std::chrono::seconds(GetParam().code == ErrorCode::timed_out ? 2 : 60);
  const Resolution resolution = resolve(what);
  EXPECT_EQ(resolution.outcome, Outcome::failed) << resolution.reason;
  EXPECT_EQ(resolution.path, path);
  ASSERT_TRUE(resolution.error);
  EXPECT_EQ(resolution.error->code, GetParam().code);
  EXPECT_THAT(resolution.reason, HasSubstr(GetParam().words));
  EXPECT_TRUE(stdfs::is_empty(folder_ / "store" / "tmp"));
  ::unsetenv("FAKE_EP_FAULT");
  EXPECT_EQ(resolve(request(good)).outcome, Outcome::hit);
  Request again = request(path);
  again.retry_failed = true;
  EXPECT_EQ(resolve(again).outcome, Outcome::compiled);
}

INSTANTIATE_TEST_SUITE_P(
    Faults, FailingCompile,
    ::testing::Values(
        Failure{"says_no", "fail@compile", ErrorCode::compile_failed, ""},
        Failure{"crashes", "segv@compile", ErrorCode::compile_failed, "signal 11"},
        Failure{"crashes_before_writing", "abort@compile_before_write", ErrorCode::compile_failed, "signal 6"},
        Failure{"crashes_after_writing", "abort@compile_after_write", ErrorCode::compile_failed, "signal 6"},
        Failure{"exits_with_zero", "exit=0@compile", ErrorCode::compile_failed, "exit code 0"},
        Failure{"hangs", "hang@compile", ErrorCode::timed_out, "within 2"},
        Failure{"hangs_with_a_grandchild_elsewhere", "grandchild_setsid@compile", ErrorCode::timed_out, "within 2"},
        Failure{"hangs_and_ignores_sigterm", "sleep_forever_ignoring_sigterm@compile", ErrorCode::timed_out,
                "within 2"},
        Failure{"absolute_reference", "bad_reference=absolute", ErrorCode::compile_failed, ""},
        Failure{"reference_out_of_the_folder", "bad_reference=dotdot", ErrorCode::compile_failed, ""},
        Failure{"empty_reference", "bad_reference=empty", ErrorCode::compile_failed, ""},
        Failure{"reference_that_is_not_utf8", "bad_reference=notutf8", ErrorCode::compile_failed, ""},
        Failure{"link_as_binary", "bad_reference=link", ErrorCode::compile_failed, ""},
        Failure{"truncated_binary", "truncate_binary", ErrorCode::compile_failed, ""},
        Failure{"empty_binary", "empty_binary", ErrorCode::compile_failed, ""},
        Failure{"missing_binary", "missing_binary", ErrorCode::compile_failed, ""},
        Failure{"another_source", "other_source=Nobody", ErrorCode::compile_failed, ""},
        Failure{"refuses_its_own_result", "refuse_load", ErrorCode::compile_failed, ""}),
    [](const auto& each) { return each.param.name; });

TEST_F(ResolverTest, ACrashAfterTheCompileReturnedIsAcceptedByAFreshWorker) {
  ::setenv("FAKE_EP_COUNTER", (folder_ / "counter").c_str(), 1);
  ::setenv("FAKE_EP_FAULT", "abort@load#1", 1);
  const Resolution resolution = resolve(request(model()));
  ::unsetenv("FAKE_EP_COUNTER");
  EXPECT_EQ(resolution.outcome, Outcome::compiled) << resolution.reason;
  EXPECT_EQ(compiles(), 1U);
}

TEST_F(ResolverTest, AFailureIsRememberedUntilItIsAskedToRetry) {
  const auto path = model();
  ::setenv("FAKE_EP_FAULT", "fail@compile", 1);
  ASSERT_EQ(resolve(request(path)).outcome, Outcome::failed);
  ASSERT_EQ(compiles(), 1U);
  const Resolution remembered = resolve(request(path));
  EXPECT_EQ(remembered.outcome, Outcome::failed);
  EXPECT_THAT(remembered.reason, HasSubstr("remembered"));
  EXPECT_EQ(compiles(), 1U);
  ::unsetenv("FAKE_EP_FAULT");
  Request retry = request(path);
  retry.retry_failed = true;
  EXPECT_EQ(resolve(retry).outcome, Outcome::compiled);
  EXPECT_EQ(resolve(request(path)).outcome, Outcome::hit);
}

TEST_F(ResolverTest, ATimeoutBindsOnlyRequestsThatWaitNoLonger) {
  const auto path = model();
  ::setenv("FAKE_EP_FAULT", "slow=2500@compile", 1);
  Request hurried = request(path);
  hurried.compile_timeout = std::chrono::milliseconds(1500);
  ASSERT_EQ(resolve(hurried).outcome, Outcome::failed);
  EXPECT_THAT(resolve(hurried).reason, HasSubstr("remembered"));
  EXPECT_EQ(resolve(request(path)).outcome, Outcome::compiled);
}

TEST_F(ResolverTest, ACrashCountsFromTheSecondInARow) {
  const auto path = model();
  ::setenv("FAKE_EP_FAULT", "segv@compile", 1);
  (void)resolve(request(path));
  (void)resolve(request(path));
  EXPECT_EQ(compiles(), 2U);
  EXPECT_THAT(resolve(request(path)).reason, HasSubstr("remembered"));
  EXPECT_EQ(compiles(), 2U);
}

TEST_F(ResolverTest, NothingToCompileIsRememberedButNotWhenTheEpLoggedAnError) {
  const auto path = model();
  Request nothing = request(path);
  nothing.target.provider_options["claim"] = "none";
  EXPECT_EQ(resolve(nothing).outcome, Outcome::nothing_to_compile);
  EXPECT_THAT(resolve(nothing).reason, HasSubstr("remembered"));
  ::setenv("FAKE_EP_FAULT", "log_error_claim_nothing", 1);
  EXPECT_EQ(resolve(request(path)).outcome, Outcome::failed);
}

TEST_F(ResolverTest, AFloodOfOutputEndsInACappedLog) {
  ::setenv("FAKE_EP_FAULT", "flood@compile", 1);
  const Resolution resolution = resolve(request(model()));
  ASSERT_EQ(resolution.outcome, Outcome::compiled) << resolution.reason;
  EXPECT_LE(stdfs::file_size(resolution.path.parent_path() / "compile.log"), 16U << 20U);
}

TEST_F(ResolverTest, TheEpsOwnVerdictMakesAMissAndANewGeneration) {
  const auto path = model();
  const Resolution first = resolve(request(path));
  // The EP was updated to another blob format without any of its files changing.
  ::setenv("FAKE_EP_COMPATIBILITY", "fake;v2", 1);
  const Resolution second = resolve(request(path));
  EXPECT_EQ(second.outcome, Outcome::compiled) << second.reason;
  EXPECT_THAT(second.reason, HasSubstr("cannot load the stored model"));
  EXPECT_NE(second.generation, first.generation);
  ::setenv("FAKE_EP_VERDICT", "prefer_recompile", 1);
  const Resolution third = resolve(request(path));
  EXPECT_EQ(third.outcome, Outcome::compiled) << third.reason;
  EXPECT_THAT(third.reason, HasSubstr("prefers to compile"));
  EXPECT_EQ(compiles(), 3U);
  ::setenv("FAKE_EP_VERDICT", "not_applicable", 1);
  EXPECT_EQ(resolve(request(path)).outcome, Outcome::hit);
  ::unsetenv("FAKE_EP_VERDICT");
  ::unsetenv("FAKE_EP_COMPATIBILITY");
}

TEST_F(ResolverTest, ASessionHoldsItsLeaseAndComputesWhatTheSourceDoes) {
  const auto path = model();
  (void)resolve(request(path));
  auto session = session::PreparedSession::open(*resolver_, request(path), resolve(request(path)));
  ASSERT_TRUE(session) << session.error().message;
  EXPECT_TRUE(session->resolution().lease.held());
  EXPECT_EQ(compiles(), 1U) << "opening compiled something";
}

// The process still runs the old library: what it would compile with the new one's name is nobody's to keep.
TEST_F(ResolverTest, ALibraryReplacedUnderTheProcessMakesItsRequestsUncacheable) {
  const stdfs::path library = folder_ / "libcopied_ep.so";
  const stdfs::path update = folder_ / "update.so";
  stdfs::copy_file(fake_ep_library(), library);
  stdfs::copy_file(fake_ep_library(), update);
  std::ofstream(update, std::ios::app | std::ios::binary) << "patch";
  ort::RuntimeOptions loaded;
  loaded.library = stdfs::path(PRECAST_DEPS_DIR) / "ort/lib/libonnxruntime.so.1";
  auto runtime = ort::Runtime::load(loaded);
  ASSERT_TRUE(runtime) << runtime.error().message;
  ort::Catalog copied(*runtime, {{"copied_ep", "explicit", library, nullptr}});
  Resolver resolver({.file_system = files_,
                     .catalog = [&] { return Result<ort::Catalog*>(&copied); },
                     .store = store_.get(),
                     .store_problem = {},
                     .worker = {},
                     .cancel = nullptr,
                     .allow_telemetry = false});
  Request wanted = request(model());
  wanted.target.ep = "copied_ep";
  const auto before = resolver.resolve(wanted);
  ASSERT_TRUE(before) << before.error().message;
  EXPECT_EQ(before->outcome, Outcome::compiled) << before->reason;
  stdfs::rename(update, library);
  const auto after = resolver.resolve(wanted);
  ASSERT_TRUE(after) << after.error().message;
  EXPECT_EQ(after->outcome, Outcome::uncached);
  EXPECT_THAT(after->reason, HasSubstr("a library was replaced"));
  const auto entries = store_->list();
  ASSERT_TRUE(entries);
  EXPECT_EQ(entries->size(), 1U) << "only what was compiled before the update is kept";
}

// A stored model that ORT does not open.
class RefusalTest : public ResolverTest {
 protected:
  ~RefusalTest() override { ::unsetenv("FAKE_EP_COUNTER"); }
  // Damaged after it was looked up: what a failing disk does between two looks at the time stamps.
  static void damage(const Resolution& resolution) {
    for (const store::Artifact& artifact : resolution.artifacts) {
      if (artifact.path == store::kModelName) continue;
      const stdfs::path path = resolution.path.parent_path() / artifact.path;
      stdfs::permissions(path, stdfs::perms::owner_write | stdfs::perms::owner_read);
      std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
      file << "XXXXXXXX";
    }
  }
  Result<session::PreparedSession> open(const Request& what, Resolution resolution) {
    return session::PreparedSession::open(*resolver_, what, std::move(resolution));
  }
};

TEST_F(RefusalTest, ADamagedGenerationIsMadeAnewAndOpened) {
  const Request wanted = request(model());
  Resolution hit = resolve(wanted);
  const std::string generation = hit.generation;
  damage(hit);
  const auto session = open(wanted, std::move(hit));
  ASSERT_TRUE(session) << session.error().message;
  EXPECT_EQ(session->resolution().outcome, Outcome::compiled);
  EXPECT_THAT(session->resolution().reason, HasSubstr("the stored model was refused and is not used any more"));
  EXPECT_NE(session->resolution().generation, generation);
  EXPECT_EQ(compiles(), 2U);
  EXPECT_EQ(resolve(wanted).outcome, Outcome::hit);
}

// A bad run-time option must not destroy a good entry.
TEST_F(RefusalTest, AnIntactEntryThatAWorkerOpensIsNotTouched) {
  const Request wanted = request(model());
  (void)resolve(wanted);
  Request odd = wanted;
  odd.session.config_entries["session.intra_op_thread_affinities"] = "nonsense";
  const auto session = open(odd, resolve(odd));
  ASSERT_FALSE(session);
  EXPECT_THAT(session.error().message, HasSubstr("Affinity"));
  EXPECT_EQ(resolve(wanted).outcome, Outcome::hit);
  EXPECT_EQ(compiles(), 1U);
  EXPECT_FALSE(*store_->read_failed(resolve(wanted).key));
}

TEST_F(RefusalTest, AnIntactEntryThatNoWorkerOpensIsMadeAnewOnce) {
  const Request wanted = request(model());
  Resolution hit = resolve(wanted);
  ::setenv("FAKE_EP_COUNTER", (folder_ / "counter").c_str(), 1);
  ::setenv("FAKE_EP_FAULT", "fail@load#2", 1);  // here, and in the worker that looks whether it is the entry's fault
  const auto session = open(wanted, std::move(hit));
  ASSERT_TRUE(session) << session.error().message;
  EXPECT_EQ(session->resolution().outcome, Outcome::compiled);
  EXPECT_THAT(session->resolution().reason, HasSubstr("the stored model was refused and is not used any more"));
  EXPECT_EQ(compiles(), 2U);
}

TEST_F(RefusalTest, AnEntryThatCannotBeMadeAnewGivesTheSource) {
  const Request wanted = request(model());
  Resolution hit = resolve(wanted);
  ::setenv("FAKE_EP_FAULT", "refuse_load", 1);
  const auto session = open(wanted, std::move(hit));
  ASSERT_TRUE(session) << session.error().message;
  EXPECT_EQ(session->resolution().outcome, Outcome::failed);
  EXPECT_EQ(session->resolution().path, wanted.model);
  EXPECT_EQ(resolve(wanted).outcome, Outcome::failed) << "remembered";
}

TEST_F(RefusalTest, RefusedTwiceIsRememberedWithBothReasons) {
  const Request wanted = request(model());
  Resolution first = resolve(wanted);
  damage(first);
  const Error because_of_one{ErrorCode::compile_failed, "reason one", {}, {}};
  const Error because_of_two{ErrorCode::compile_failed, "reason two", {}, {}};
  auto second = resolver_->after_refusal(wanted, std::move(first), because_of_one, std::nullopt);
  ASSERT_TRUE(second) << second.error().message;
  ASSERT_EQ(second->outcome, Outcome::compiled);
  damage(*second);
  const auto last = resolver_->after_refusal(wanted, std::move(*second), because_of_two, because_of_one);
  ASSERT_TRUE(last) << last.error().message;
  EXPECT_EQ(last->outcome, Outcome::failed);
  EXPECT_EQ(last->path, wanted.model);
  EXPECT_THAT(last->reason, HasSubstr("reason one"));
  EXPECT_THAT(last->reason, HasSubstr("reason two"));
  const auto record = store_->read_failed(last->key);
  ASSERT_TRUE(record && *record);
  EXPECT_EQ((*record)->kind, "refused");
  EXPECT_EQ(resolve(wanted).outcome, Outcome::failed);
  EXPECT_EQ(compiles(), 2U);
  Request again = wanted;
  again.retry_failed = true;
  EXPECT_EQ(resolve(again).outcome, Outcome::compiled);
}

TEST_F(RefusalTest, WhatSomebodyMadeAnewMeanwhileIsUsedAndKept) {
  const Request wanted = request(model());
  Resolution old = resolve(wanted);
  Request rebuild = wanted;
  rebuild.rebuild = true;
  const Resolution newer = resolve(rebuild);
  damage(old);
  const auto session = open(wanted, std::move(old));
  ASSERT_TRUE(session) << session.error().message;
  EXPECT_EQ(session->resolution().outcome, Outcome::hit);
  EXPECT_EQ(session->resolution().generation, newer.generation);
  EXPECT_EQ(compiles(), 2U);
}

TEST_F(RefusalTest, AGenerationThatSomebodyElseUsesStaysUntilItsLeaseEnds) {
  const Request wanted = request(model());
  Resolution refused = resolve(wanted);
  Resolution used = resolve(wanted);
  damage(refused);
  ASSERT_TRUE(open(wanted, std::move(refused)));
  EXPECT_TRUE(stdfs::exists(used.path));
  used.lease.release();
  Request rebuild = wanted;
  rebuild.rebuild = true;
  (void)resolve(rebuild);  // retention follows each compile
  EXPECT_FALSE(stdfs::exists(used.path));
}

// Only ORT's own word makes a good entry go.
TEST_F(RefusalTest, AWorkerThatCrashesHangsOrIsSlowSaysNothingAboutTheEntry) {
  for (const char* fault : {"abort@load", "exit=0@load", "slow=3000@load"}) {
    Request wanted = request(model());
    Resolution hit = resolve(wanted);
    const std::string generation = hit.generation;
    wanted.compile_timeout = std::chrono::seconds(1);
    ::setenv("FAKE_EP_FAULT", fault, 1);
    const Error why{ErrorCode::compile_failed, "refused here", {}, {}};
    const auto answer = resolver_->after_refusal(wanted, std::move(hit), why, std::nullopt);
    ::unsetenv("FAKE_EP_FAULT");
    ASSERT_FALSE(answer) << fault;
    EXPECT_EQ(answer.error().message, "refused here") << fault;
    const Resolution again = resolve(wanted);
    EXPECT_EQ(again.outcome, Outcome::hit) << fault;
    EXPECT_EQ(again.generation, generation) << fault;
  }
}

// Without the key's lock nothing is taken away, and nothing is blamed.
TEST_F(RefusalTest, WhileSomebodyHoldsTheKeyNothingIsTakenAway) {
  Request wanted = request(model());
  Resolution hit = resolve(wanted);
  const std::string key = hit.key;
  damage(hit);
  wanted.lock_timeout = std::chrono::milliseconds(50);
  {
    const auto held = store_->lock_key(key, {});
    ASSERT_TRUE(held);
    const auto session = open(wanted, std::move(hit));
    ASSERT_TRUE(session) << session.error().message;
    EXPECT_EQ(session->resolution().outcome, Outcome::uncached);
    EXPECT_EQ(session->resolution().path, wanted.model);
  }
  EXPECT_FALSE(*store_->read_failed(key));
  EXPECT_EQ(compiles(), 2U) << "the stored one, and the EP's own when the source is loaded";
}

}  // namespace
}  // namespace precast::compile
