// What makes another identity, seen at the answers: each change is a compile of its own, and what was there stays.
#include <sys/stat.h>

#include <fcntl.h>
#include <gmock/gmock.h>

#include "compile/support.hpp"
#include "process/descriptor_posix.hpp"
#include "support/models.hpp"

namespace precast::compile {
namespace {

using precast::testing::make_model;
using precast::testing::read_file;
using precast::testing::write_file;
using ::testing::HasSubstr;
namespace stdfs = std::filesystem;

class AnotherIdentity : public testing::ResolverTest {
 protected:
  ~AnotherIdentity() override { ::unsetenv("PRECAST_TEST_MODE"); }
  // Compiled anew, kept, and what was there before stays.
  void expect_another(const Request& wanted, const Resolution& known) {
    const Resolution changed = resolve(wanted);
    EXPECT_EQ(changed.outcome, Outcome::compiled) << changed.reason;
    EXPECT_NE(changed.key, known.key);
    EXPECT_TRUE(stdfs::exists(known.path)) << "the old one stays";
    EXPECT_EQ(resolve(wanted).generation, changed.generation);
  }
};

TEST_F(AnotherIdentity, OtherBytesOfAnOptionsFileOfTheSameSizeAndTime) {
  const stdfs::path table = folder_ / "table";
  write_file(table, "one way");
  Request wanted = request(model());
  wanted.target.provider_options["table"] = table.native();
  wanted.extra_file_options = {"table"};
  const Resolution known = resolve(wanted);
  ASSERT_EQ(known.outcome, Outcome::compiled) << known.reason;
  struct stat before{};
  ASSERT_EQ(::stat(table.c_str(), &before), 0);
  write_file(table, "another");
  const timespec times[] = {before.st_atim, before.st_mtim};
  ASSERT_EQ(::utimensat(AT_FDCWD, table.c_str(), times, 0), 0);
  expect_another(wanted, known);
}

TEST_F(AnotherIdentity, DataThatGrewBehindItsLastTensor) {
  const Request wanted = request(model());
  const Resolution known = resolve(wanted);
  ASSERT_EQ(known.outcome, Outcome::compiled) << known.reason;
  write_file(folder_ / "model.data", read_file(folder_ / "model.data") + "x");
  expect_another(wanted, known);
}

TEST_F(AnotherIdentity, AModelLinkThatLeadsElsewhereNow) {
  (void)model("one.onnx", false);
  make_model(folder_ / "two.onnx", {.output = {}, .seed = 2});
  stdfs::create_symlink("one.onnx", folder_ / "link.onnx");
  const Request wanted = request(folder_ / "link.onnx");
  const Resolution known = resolve(wanted);
  ASSERT_EQ(known.outcome, Outcome::compiled) << known.reason;
  stdfs::remove(folder_ / "link.onnx");
  stdfs::create_symlink("two.onnx", folder_ / "link.onnx");
  expect_another(wanted, known);
  EXPECT_EQ(resolve(request(folder_ / "one.onnx")).generation, known.generation) << "the same bytes by another name";
}

TEST_F(AnotherIdentity, AVariableThatTheWorkerIsGiven) {
  Request wanted = request(model());
  const Resolution plain = resolve(wanted);
  wanted.worker_environment = {"PRECAST_TEST_MODE"};
  ::setenv("PRECAST_TEST_MODE", "one", 1);
  const Resolution known = resolve(wanted);
  EXPECT_EQ(known.outcome, Outcome::compiled) << known.reason;
  EXPECT_NE(known.key, plain.key);
  ::setenv("PRECAST_TEST_MODE", "two", 1);
  expect_another(wanted, known);
}

TEST_F(AnotherIdentity, TwoOptionSetsServeSideBySide) {
  const Request plain = request(model());
  Request scaled = plain;
  scaled.target.provider_options["output_scale"] = "2";
  const Resolution one = resolve(plain);
  expect_another(scaled, one);
  const Resolution again = resolve(plain);
  EXPECT_EQ(again.generation, one.generation);
  EXPECT_TRUE(one.lease.held());
  EXPECT_TRUE(again.lease.held());
  EXPECT_EQ(compiles(), 2U);
}

// What looks compiled and lies where somebody would put it is not precast's.
TEST_F(AnotherIdentity, ACompiledLookingSiblingIsNeitherUsedNorTouched) {
  const Resolution other = resolve(request(model("other.onnx", false)));
  const stdfs::path source = make_model(folder_ / "model.onnx", {.output = {}, .seed = 2});
  std::vector<stdfs::path> siblings;
  for (const char* name : {"model_ctx.onnx", "model_fake_ep_ctx.onnx", "model.onnx_ctx.onnx"}) {
    siblings.push_back(folder_ / name);
    stdfs::copy_file(other.path, siblings.back());
    stdfs::last_write_time(siblings.back(), stdfs::file_time_type::clock::now() + std::chrono::hours(1));
  }
  std::vector<stdfs::file_time_type> times;
  times.reserve(siblings.size());
  for (const auto& sibling : siblings) times.push_back(stdfs::last_write_time(sibling));
  const Resolution compiled = resolve(request(source));
  EXPECT_EQ(compiled.outcome, Outcome::compiled);
  EXPECT_EQ(compiles(), 2U);
  for (std::size_t i = 0; i < siblings.size(); ++i) {
    EXPECT_EQ(stdfs::last_write_time(siblings[i]), times[i]);
    EXPECT_EQ(read_file(siblings[i]), read_file(other.path));
  }
}

TEST_F(AnotherIdentity, ACompiledModelNeedsNeitherLockNorStore) {
  const Resolution compiled = resolve(request(model()));
  stdfs::copy(compiled.path.parent_path(), folder_ / "copy");
  stdfs::remove_all(folder_ / "store");
  open_store(folder_ / "store");
  const Request wanted = request(folder_ / "copy" / "model.onnx");
  (void)resolve(wanted);  // its digest is remembered
  files_.reset();
  const Resolution answer = resolve(wanted);
  EXPECT_EQ(answer.outcome, Outcome::precompiled);
  EXPECT_EQ(answer.path, wanted.model);
  EXPECT_EQ(answer.key, "");
  EXPECT_FALSE(answer.lease.held());
  EXPECT_EQ(files_.counts().exclusive_locks, 0U);
  EXPECT_EQ(files_.counts().syncs, 0U);
  for (const char* name : {"keys", "generations", "leases"}) {
    EXPECT_FALSE(stdfs::exists(folder_ / "store" / name)) << name;
  }
}

// The compiler itself appends to its source, once: the first result is thrown away, the second is that of the new
// bytes.
TEST_F(AnotherIdentity, ASourceThatItsCompilerChangesIsCompiledTwice) {
  const auto path = model("model.onnx", true);
  const Resolution before = resolve(request(path));
  Request again = request(path);
  again.rebuild = true;
  ::setenv("FAKE_EP_COUNTER", (folder_ / "counter").c_str(), 1);
  ::setenv("FAKE_EP_FAULT", ("modify_source=" + (folder_ / "model.data").native() + "#1").c_str(), 1);
  const Resolution after = resolve(again);
  ::unsetenv("FAKE_EP_FAULT");
  EXPECT_EQ(after.outcome, Outcome::compiled) << after.reason;
  EXPECT_NE(after.key, before.key);
  EXPECT_EQ(compiles(), 3U) << "one before, two now";
  EXPECT_EQ(resolve(request(path)).generation, after.generation);
}

// The identity is taken again under the key's lock: what changed while somebody else compiled counts.
TEST_F(AnotherIdentity, ASourceThatChangesWhileItWaitsItsTurn) {
  const auto path = model("model.onnx", false);
  const Resolution old = resolve(request(path));
  ASSERT_EQ(old.outcome, Outcome::compiled);
  auto held = store_->lock_key(old.key, {});
  ASSERT_TRUE(held);
  ASSERT_TRUE(store_->remove_marker(old.key, old.generation));
  fs::Lock::WaitOptions at_once;
  at_once.timeout = std::chrono::milliseconds(0);
  const auto answer = resolver_->resolve(request(path), [&](const Progress& progress) {
    if (progress.stage == Stage::compiling) {
      EXPECT_TRUE(store_->lock_key(old.key, at_once)) << "the old one's lock is given back";
    }
    if (progress.stage != Stage::waiting || !held) return;
    make_model(path, {.output = {}, .seed = 2});
    held = fail(ErrorCode::busy, "given back");
  });
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->outcome, Outcome::compiled) << answer->reason;
  EXPECT_NE(answer->key, old.key);
  EXPECT_EQ(compiles(), 2U) << "the old bytes were not compiled again";
}

}  // namespace
}  // namespace precast::compile
