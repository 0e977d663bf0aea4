// What doctor says of a store.
#include <algorithm>

#include <gmock/gmock.h>

#include "cli/store_checks.hpp"
#include "model_generator/model_generator.hpp"
#include "support/models.hpp"
#include "support/program.hpp"
#include "util/text.hpp"

namespace precast::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
namespace stdfs = std::filesystem;

class Doctor : public ::testing::Test {
 protected:
  Doctor() { precast_.env["PRECAST_ASSUME_CPU_VENDOR"] = "intel"; }

  stdfs::path tiny() { return make_model(folder_ / "tiny.onnx"); }
  nlohmann::json compile(std::vector<std::string> more = {}) {
    std::vector<std::string> arguments{"compile", tiny().native()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return precast_.json(precast_.fake(arguments));
  }
  // The check of that name, and the exit code of the whole.
  nlohmann::json check(const std::string& name, int expected_code) {
    int code = -1;
    const auto document = precast_.json({"doctor"}, &code);
    EXPECT_EQ(code, expected_code) << document.dump(2);
    for (const auto& one : document["checks"]) {
      if (one["name"] == name) return one;
    }
    ADD_FAILURE() << "no check '" << name << "' in " << document.dump(2);
    return nullptr;
  }

  Precast precast_;
  Folder folder_;
};

TEST_F(Doctor, OfAStoreInOrderFindsNothing) {
  compile();
  int code = -1;
  const auto document = precast_.json({"doctor"}, &code);
  EXPECT_EQ(code, 0) << document.dump(2);
  std::vector<std::string> names;
  for (const auto& one : document["checks"]) {
    EXPECT_EQ(one["ok"], true) << one.dump();
    names.push_back(one["name"]);
  }
  for (const char* name : {"store", "store time stamps", "store clock", "store records", "store leftovers",
                           "store failures", "store disk"}) {
    EXPECT_THAT(names, ::testing::Contains(name));
  }
  EXPECT_EQ(check("store records", 0)["message"], "1 entry, none damaged");
}

TEST_F(Doctor, NamesDamagedRecordsAndPointsAtVerify) {
  const auto compiled = compile();
  const stdfs::path model = compiled["path"].get<std::string>();
  stdfs::permissions(model, stdfs::perms::owner_all);
  stdfs::resize_file(model, 10);
  const auto records = check("store records", 1);
  EXPECT_EQ(records["ok"], false);
  EXPECT_THAT(records.value("message", ""), HasSubstr("generations/" + compiled["generation"].get<std::string>()));
  EXPECT_THAT(records.value("message", ""), HasSubstr("has 10 bytes"));
  EXPECT_THAT(records.value("hint", ""), HasSubstr("precast cache verify"));
}

TEST_F(Doctor, RecordsOfAnotherVersionAreMentionedAndFine) {
  const std::string key = compile()["key"];
  write_file(precast_.store() / "keys" / key.substr(0, 2) / key / "marker.2.json", "{}");
  const auto records = check("store records", 0);
  EXPECT_EQ(records["ok"], true);
  EXPECT_THAT(records.value("message", ""), HasSubstr("marker.2.json"));
  EXPECT_THAT(records.value("hint", ""), HasSubstr("precast cache verify"));
}

TEST_F(Doctor, RememberedFailuresAreCountedWithWhatToDoAndAreFine) {
  precast_.env["FAKE_EP_FAULT"] = "fail@compile";
  compile();
  const auto failures = check("store failures", 0);
  EXPECT_EQ(failures["ok"], true);
  EXPECT_THAT(failures.value("message", ""), StartsWith("1 failed compile is remembered"));
  EXPECT_THAT(failures.value("hint", ""), HasSubstr("--retry-failed"));
}

TEST_F(Doctor, AStoreInMemoryHashesAtEveryHit) {
  const stdfs::path memory = "/dev/shm/precast-doctor-" + util::new_uuid();
  ASSERT_TRUE(stdfs::create_directory(memory));
  stdfs::permissions(memory, stdfs::perms::owner_all);
  precast_.env["PRECAST_CACHE_DIR"] = memory.native();
  ASSERT_EQ(compile()["outcome"], "compiled");
  const auto stamps = check("store time stamps", 1);
  stdfs::remove_all(memory);
  EXPECT_EQ(stamps["ok"], false);
  EXPECT_THAT(stamps.value("message", ""), HasSubstr("every hit hashes"));
  EXPECT_THAT(stamps.value("hint", ""), HasSubstr("PRECAST_CACHE_DIR"));
}

TEST_F(Doctor, AStoreThatCannotBeOpenedIsOneFinding) {
  write_file(folder_ / "file", "");
  precast_.env["PRECAST_CACHE_DIR"] = (folder_ / "file").native();
  EXPECT_EQ(check("store", 1)["ok"], false);
}

// What no test can bring about on a real disk and clock.

const cli::Check& named(const std::vector<cli::Check>& checks, std::string_view name) {
  return *std::ranges::find(checks, name, &cli::Check::name);
}

store::Health healthy() {
  store::Health health;
  health.trust = store::CtimeTrust::always;
  health.volume = {.magic = 0xEF53, .bytes_free = std::uint64_t{1} << 40U, .bytes_total = std::uint64_t{1} << 41U};
  return health;
}

TEST(StoreChecks, NameFilesFromTheFutureButNotAllOfMany) {
  store::Health health = healthy();
  EXPECT_TRUE(named(cli::store_checks(health), "store clock").ok);
  health.from_the_future = {"/a.onnx"};
  EXPECT_THAT(named(cli::store_checks(health), "store clock").message, HasSubstr("1 file was changed in the future"));
  health.from_the_future = {"/a.onnx", "/b.onnx", "/c.onnx", "/d.onnx", "/e\n.onnx"};
  const auto checks = cli::store_checks(health);
  const cli::Check& clock = named(checks, "store clock");
  EXPECT_FALSE(clock.ok);
  EXPECT_THAT(clock.message, HasSubstr("'/a.onnx', '/b.onnx', '/c.onnx' and 2 more"));
  EXPECT_THAT(clock.hint, HasSubstr("clock"));
}

TEST(StoreChecks, NameLeftovers) {
  store::Health health = healthy();
  health.leftovers = {"/store/tmp/x"};
  const auto checks = cli::store_checks(health);
  EXPECT_FALSE(named(checks, "store leftovers").ok);
  EXPECT_THAT(named(checks, "store leftovers").message, HasSubstr("'/store/tmp/x'"));
}

TEST(StoreChecks, SayWhenTheDiskIsNearlyFull) {
  store::Health health = healthy();
  EXPECT_THAT(named(cli::store_checks(health), "store disk").message, HasSubstr("1.0 TiB free of 2.0 TiB"));
  health.volume.bytes_free = 1000;
  const auto checks = cli::store_checks(health);
  EXPECT_FALSE(named(checks, "store disk").ok);
  EXPECT_THAT(named(checks, "store disk").message, HasSubstr("1000 B free"));
}

}  // namespace
}  // namespace precast::testing
