// Where the store cannot keep a compile, the session that asked for it uses it all the same, alone.
#include <array>
#include <fstream>

#include <gmock/gmock.h>

#include "compile/support.hpp"
#include "compile/work_folder.hpp"
#include "session/prepared_session.hpp"

namespace precast::compile {
namespace {

using precast::testing::write_file;
using ::testing::HasSubstr;
namespace stdfs = std::filesystem;

class PrivateGeneration : public testing::ResolverTest {
 protected:
  // As of a session: it keeps its answer alive.
  Request of_session(const stdfs::path& path) {
    Request wanted = request(path);
    wanted.accept_private = true;
    return wanted;
  }
  // A folder in the place of a marker: no marker can be written there.
  void obstruct_marker(const std::string& key) {
    stdfs::create_directories(store_->layout().marker(key) / "in the way");
  }
  [[nodiscard]] std::size_t generations() const {
    const auto folder = store_->layout().generations();
    if (!stdfs::exists(folder)) return 0;
    return static_cast<std::size_t>(std::distance(stdfs::directory_iterator(folder), {}));
  }
  // Retention as it runs after a compile, an hour later.
  void sweep() { store_->retain({}, std::chrono::seconds(0)); }
};

TEST_F(PrivateGeneration, WhereOnlyTheMarkerFailsTheSessionRunsOnIt) {
  const Request wanted = of_session(model());
  const std::string key = resolve(wanted).key;
  open_store(folder_ / "another store");
  obstruct_marker(key);
  auto session = session::PreparedSession::open(*resolver_, wanted, resolve(wanted));
  ASSERT_TRUE(session) << session.error().message;
  EXPECT_EQ(session->resolution().outcome, Outcome::uncached);
  EXPECT_THAT(session->resolution().reason, HasSubstr("compiled, but not kept"));
  const stdfs::path running = session->resolution().path;
  EXPECT_NE(running, wanted.model);
  EXPECT_EQ(compiles(), 2U) << "one in each store, and none to open";
  sweep();
  EXPECT_TRUE(stdfs::exists(running)) << "the session holds it";
  session = fail(ErrorCode::busy, "reset");
  EXPECT_FALSE(stdfs::exists(running)) << "gone with the session, without a sweep";
  EXPECT_EQ(generations(), 0U);
  EXPECT_TRUE(stdfs::is_empty(store_->layout().leases()));
}

// The first compile is of bytes that are not there any more, and the second one's marker cannot be written.
TEST_F(PrivateGeneration, OfTheSecondCompileAfterTheSourceChanged) {
  const auto path = model();
  const std::string data = precast::testing::read_file(folder_ / "model.data");
  ::setenv("FAKE_EP_COUNTER", (folder_ / "counter").c_str(), 1);
  ::setenv("FAKE_EP_FAULT", ("flip_source=" + (folder_ / "model.data").native() + "#1").c_str(), 1);
  const std::string key_after = resolve(of_session(path)).key;
  stdfs::remove(folder_ / "counter");
  write_file(folder_ / "model.data", data);
  let_times_pass();
  open_store(folder_ / "another store");
  obstruct_marker(key_after);
  const Resolution answer = resolve(of_session(path));
  EXPECT_EQ(answer.outcome, Outcome::uncached);
  EXPECT_EQ(answer.key, key_after);
  EXPECT_TRUE(answer.private_generation);
  EXPECT_TRUE(stdfs::exists(answer.path));
  EXPECT_EQ(compiles(), 4U);
  EXPECT_EQ(generations(), 1U) << "the first one is gone";
  EXPECT_TRUE(stdfs::is_empty(store_->layout().tmp()));
}

TEST_F(PrivateGeneration, OfAnUncacheableRequestIsNeitherLookedUpNorKept) {
  const stdfs::path library = folder_ / "libprivate_ep.so";
  const stdfs::path update = folder_ / "update.so";
  stdfs::copy_file(precast::testing::fake_ep_library(), library);
  stdfs::copy_file(precast::testing::fake_ep_library(), update);
  std::ofstream(update, std::ios::app | std::ios::binary) << "patch";
  auto runtime = ort::Runtime::load(
      {.library = testing::catalog().runtime().library(), .executable_directory = {}, .assume_cpu_vendor = {}});
  ASSERT_TRUE(runtime) << runtime.error().message;
  ort::Catalog catalog(*runtime, {{"private_ep", "explicit", library, nullptr}});
  Resolver resolver({.file_system = files_,
                     .catalog = [&] { return Result<ort::Catalog*>(&catalog); },
                     .store = store_.get(),
                     .store_problem = {},
                     .worker = {},
                     .cancel = nullptr,
                     .allow_telemetry = false});
  Request wanted = of_session(model());
  wanted.target.ep = "private_ep";
  const auto before = resolver.resolve(wanted);
  ASSERT_TRUE(before) << before.error().message;
  ASSERT_EQ(before->outcome, Outcome::compiled) << before->reason;
  stdfs::rename(update, library);
  stdfs::path running;
  {
    const auto answer = resolver.resolve(wanted);
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->outcome, Outcome::uncached);
    EXPECT_THAT(answer->reason, HasSubstr("restart it"));
    running = answer->path;
    EXPECT_TRUE(stdfs::exists(running));
    EXPECT_FALSE(running.native().starts_with((folder_ / "store").native()));
    const auto second = resolver.resolve(wanted);
    ASSERT_TRUE(second);
    EXPECT_NE(second->path, running) << "nobody else is served it";
  }
  EXPECT_FALSE(stdfs::exists(running));
  EXPECT_EQ(generations(), 1U) << "what was compiled before the update";
}

// What a session computes says which options its EP got.
class SessionAnswers : public testing::ResolverTest {
 protected:
  std::vector<float> outputs(session::PreparedSession& session) {
    std::array<float, 8> x = {1, 2, 3, 4, 5, 6, 7, 8};
    const std::array<std::int64_t, 2> shape = {1, 8};
    const auto memory = Ort::MemoryInfo::CreateCpu(OrtArenaAllocator, OrtMemTypeDefault);
    const auto input = Ort::Value::CreateTensor<float>(memory, x.data(), x.size(), shape.data(), shape.size());
    const char* in = "x";
    const char* out = "y";
    auto values = session.native().Run(Ort::RunOptions{}, &in, &input, 1, &out, 1);
    const float* data = values.at(0).GetTensorData<float>();
    return {data, data + 8};
  }
  std::vector<float> outputs_of(const Request& wanted) {
    auto session = session::PreparedSession::open(*resolver_, wanted, resolve(wanted));
    EXPECT_TRUE(session) << session.error().message;
    return session ? outputs(*session) : std::vector<float>{};
  }
};

TEST_F(SessionAnswers, OptionsReachTheEp) {
  const Request plain = request(model());
  Request doubled = plain;
  doubled.target.provider_options["output_scale"] = "2";
  std::vector<float> expected = outputs_of(plain);
  ASSERT_EQ(expected.size(), 8U);
  EXPECT_NE(expected, std::vector<float>(8, 0.0F));
  for (float& value : expected) value *= 2;
  EXPECT_EQ(outputs_of(doubled), expected);
}

TEST_F(SessionAnswers, AFailedCompileOpensOrtOnceOnTheSource) {
  const Request plain = request(model());
  Request failing = plain;
  failing.target.provider_options["output_scale"] = "2";
  const std::vector<float> expected = outputs_of(plain);
  stdfs::remove(trace());
  ::setenv("FAKE_EP_COUNTER", (folder_ / "counter").c_str(), 1);
  ::setenv("FAKE_EP_FAULT", "fail@compile#1", 1);  // in the worker
  auto session = session::PreparedSession::open(*resolver_, failing, resolve(failing));
  ASSERT_TRUE(session) << session.error().message;
  EXPECT_EQ(session->resolution().outcome, Outcome::failed);
  EXPECT_EQ(session->resolution().path, failing.model);
  int opened = 0;
  for (const auto& line : precast::testing::read_trace(trace())) {
    if (line.event == "create_ep" && line.pid == ::getpid()) ++opened;
  }
  EXPECT_EQ(opened, 1);
  std::vector<float> doubled = expected;
  for (float& value : doubled) value *= 2;
  EXPECT_EQ(outputs(*session), doubled);
  EXPECT_TRUE(stdfs::is_empty(store_->layout().tmp()));
  std::size_t files = 0;
  for (const auto& entry : stdfs::directory_iterator(folder_.path())) files += entry.is_regular_file() ? 1 : 0;
  EXPECT_EQ(files, 4U) << "the model, its data, the trace and the counter";
}

// What ended the worker would end this process as well.
TEST_F(SessionAnswers, ASourceThatItsEpCrashesOrHangsOnRunsOnTheCpu) {
  for (const char* fault : {"segv@compile", "hang@compile"}) {
    Request wanted = request(model());
    wanted.target.provider_options["name"] = fault;  // an identity of its own
    wanted.compile_timeout = std::chrono::seconds(2);
    wanted.retry_failed = true;
    ::setenv("FAKE_EP_FAULT", fault, 1);
    for (const char* when : {"now", "remembered"}) {
      auto session = session::PreparedSession::open(*resolver_, wanted, resolve(wanted));
      ASSERT_TRUE(session) << fault << session.error().message;
      EXPECT_EQ(session->resolution().outcome, Outcome::failed) << fault << when;
      EXPECT_EQ(session->resolution().target.ep.found.name, "CPUExecutionProvider");
      EXPECT_THAT(session->resolution().reason, HasSubstr("crashed or hung"));
      EXPECT_EQ(outputs(*session).size(), 8U);
      wanted.retry_failed = false;
    }
  }
}

TEST_F(SessionAnswers, ASourceThatItsEpDoesNotOpenRunsOnTheCpuUnlessThatIsForbidden) {
  Request wanted = request(model());
  ::setenv("FAKE_EP_FAULT", "fail@compile", 1);  // in the worker, and where the source is opened
  auto session = session::PreparedSession::open(*resolver_, wanted, resolve(wanted));
  ASSERT_TRUE(session) << session.error().message;
  EXPECT_EQ(session->resolution().target.ep.found.name, "CPUExecutionProvider");
  EXPECT_THAT(session->resolution().reason, HasSubstr("it runs on ONNX Runtime's CPU EP, since"));
  EXPECT_EQ(outputs(*session).size(), 8U);
  wanted.session.config_entries["session.disable_cpu_ep_fallback"] = "1";
  EXPECT_FALSE(session::PreparedSession::open(*resolver_, wanted, resolve(wanted)));
}

TEST_F(SessionAnswers, AnEpWithoutContextModelsIsNeverAskedToCompile) {
  Request wanted = request(model());
  wanted.target.ep = "cpu";
  auto session = session::PreparedSession::open(*resolver_, wanted, resolve(wanted));
  ASSERT_TRUE(session) << session.error().message;
  EXPECT_EQ(session->resolution().outcome, Outcome::nothing_to_compile);
  EXPECT_EQ(outputs(*session).size(), 8U);
  for (const char* name : {"keys", "generations", "tmp", "leases"}) {
    EXPECT_FALSE(stdfs::exists(folder_ / "store" / name)) << name;
  }
}

}  // namespace
}  // namespace precast::compile
