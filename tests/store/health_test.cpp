// What doctor learns of a store.
#include "store/health.hpp"

#include <sys/stat.h>

#include <fcntl.h>
#include <gmock/gmock.h>

#include "store/support.hpp"
#include "util/sha256.hpp"
#include "util/text.hpp"

namespace precast::store {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::marker_for;
using ::testing::UnorderedElementsAre;

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30U;

class HealthTest : public ::testing::Test {
 protected:
  HealthTest() : store_(testing::open_store(fs_, folder_ / "root", &clock_)) {}
  Health examine() {
    auto health = store_->examine();
    EXPECT_TRUE(health) << health.error().message;
    return health ? *std::move(health) : Health{};
  }
  Marker commit(const std::string& name, const std::string& model = "/nowhere/a.onnx") {
    return testing::must_commit(*store_, marker_for(name, model));
  }
  // As a killed compile leaves it.
  [[nodiscard]] std::filesystem::path work_folder() const {
    const auto path = store_->layout().work(util::new_uuid());
    std::filesystem::create_directories(path / "out");
    return path;
  }

  testing::TemporaryFolder folder_;
  testing::TestFileSystem fs_;
  testing::TestClock clock_;
  std::unique_ptr<Store> store_;
};

TEST_F(HealthTest, OfAStoreInOrderNothingIsFoundAndNothingIsHashed) {
  const Marker a = commit("a");
  commit("b");
  const auto binary = store_->layout().generation(a.generation) / "npu.bin";
  const std::uint64_t before = fs_.bytes_read(binary);
  const Health health = examine();
  EXPECT_EQ(health.entries, 2U);
  EXPECT_EQ(health.trust, CtimeTrust::always);
  EXPECT_THAT(health.findings, IsEmpty());
  EXPECT_THAT(health.from_the_future, IsEmpty());
  EXPECT_THAT(health.leftovers, IsEmpty());
  EXPECT_EQ(health.remembered_failures, 0U);
  EXPECT_EQ(fs_.bytes_read(binary), before);
}

TEST_F(HealthTest, ArtifactsChangedInTheFutureAreNamed) {
  const Marker a = commit("a");
  clock_.advance(-1h);
  const auto generation = store_->layout().generation(a.generation);
  EXPECT_THAT(examine().from_the_future, UnorderedElementsAre(generation / "model.onnx", generation / "npu.bin"));
}

TEST_F(HealthTest, SourcesChangedInTheFutureAreNamedOnceWithTheirData) {
  const auto model = folder_ / "m.onnx";
  testing::put(model, "graph");
  testing::put(folder_ / "weights.bin", "weights");
  for (const char* name : {"a", "b"}) {
    Marker marker = marker_for(name, model.string());
    marker.identity =
        R"({"source":{"external":[["weights.bin","00"],["gone.bin","00"]]},"test":")" + std::string(name) + "\"}";
    marker.key = util::sha256_hex(marker.identity);
    testing::must_commit(*store_, marker);
  }
  commit("c", (folder_ / "gone.onnx").string());
  const std::int64_t now = std::max(testing::ctime_of(model), testing::ctime_of(folder_ / "weights.bin"));
  fs_.set_stat_change([](fs::FileStat& stat) {
    if (stat.size > 10) stat.ctime_ns = 0;  // all but the sources
  });
  clock_.freeze(testing::ctime_of(model) - 1);
  EXPECT_THAT(examine().from_the_future, ElementsAre(model, folder_ / "weights.bin"));
  clock_.freeze(now);
  EXPECT_THAT(examine().from_the_future, IsEmpty()) << "this very moment is not the future";
}

TEST_F(HealthTest, AFileSystemWithoutTrustedTimesIsSaid) {
  fs_.set_volume({.magic = 0x01021994, .read_only = false, .bytes_free = kGiB, .bytes_total = kGiB});
  EXPECT_EQ(examine().trust, CtimeTrust::never);
}

TEST_F(HealthTest, DamageThatShowsWithoutHashingIsFound) {
  const Marker a = commit("a");
  const Marker b = commit("b");
  const auto binary = store_->layout().generation(a.generation) / "npu.bin";
  ASSERT_EQ(::chmod(binary.c_str(), 0600), 0);
  testing::put(binary, "short");
  testing::put(store_->layout().marker(b.key), "{");
  const Health health = examine();
  std::vector<std::string> damaged;
  for (const Finding& finding : health.findings) {
    if (finding.damaged) damaged.push_back(finding.path.filename());
  }
  EXPECT_THAT(damaged, UnorderedElementsAre("npu.bin", "marker.1.json"));
  EXPECT_EQ(health.entries, 1U);
}

TEST_F(HealthTest, ChangedBytesOfTheSameLengthAreLeftToVerify) {
  const Marker a = commit("a");
  testing::change_quietly(store_->layout().generation(a.generation) / "npu.bin");
  EXPECT_THAT(examine().findings, IsEmpty());
  EXPECT_EQ(store_->verify({})->size(), 1U);
}

TEST_F(HealthTest, RecordsOfAnotherVersionAreForeignNotDamaged) {
  const Marker a = commit("a");
  testing::put(store_->layout().key_folder(a.key) / "marker.2.json", "whatever");
  const Health health = examine();
  ASSERT_EQ(health.findings.size(), 1U);
  EXPECT_TRUE(health.findings[0].foreign);
  EXPECT_FALSE(health.findings[0].damaged);
}

TEST_F(HealthTest, OldWorkThatNobodyHoldsIsALeftover) {
  const auto held = store_->begin_work();
  ASSERT_TRUE(held);
  const auto without_lease = work_folder();
  const auto with_free_lease = work_folder();
  testing::put(store_->layout().lease(with_free_lease.filename().string()), "");
  EXPECT_THAT(examine().leftovers, IsEmpty()) << "too young";
  clock_.advance(2h);
  EXPECT_THAT(examine().leftovers, UnorderedElementsAre(without_lease, with_free_lease));
  EXPECT_FALSE(std::filesystem::exists(store_->layout().lease(without_lease.filename().string())))
      << "examining makes nothing";
}

TEST_F(HealthTest, RememberedFailuresAreCountedWhatNoEpCanRunIsNot) {
  for (const auto& [name, kind] : {std::pair{"a", "compile_failed"}, {"b", "timed_out"}, {"c", "nothing_to_compile"}}) {
    FailedRecord record{.key = testing::key_for(name), .kind = kind, .reason = "because"};
    record.time = "2026-01-01T00:00:00Z";
    if (record.kind == "timed_out") record.deadline_ms = 1000;
    ASSERT_TRUE(store_->write_failed(record));
  }
  EXPECT_EQ(examine().remembered_failures, 2U);
}

TEST(NearlyFull, IsLittleSpaceInItselfAndForTheDisk) {
  EXPECT_TRUE(nearly_full({.bytes_free = kGiB - 1, .bytes_total = 100 * kGiB}));
  EXPECT_FALSE(nearly_full({.bytes_free = kGiB, .bytes_total = 10'000 * kGiB}));
  EXPECT_FALSE(nearly_full({.bytes_free = kGiB / 2, .bytes_total = 2 * kGiB})) << "a small disk";
  EXPECT_TRUE(nearly_full({.bytes_free = 0, .bytes_total = 2 * kGiB}));
}

}  // namespace
}  // namespace precast::store
