// A generation may be a bundle: a folder with folders, stored, found, checked, kept and deleted as a model is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "store/support.hpp"
#include "util/sha256.hpp"
#include "util/text.hpp"

namespace precast::store {
namespace {

namespace stdfs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::marker_for;
using testing::put;

class BundleCommit : public ::testing::Test {
 protected:
  BundleCommit() : store_(testing::open_store(fs_, root_, &clock_)) {}

  static void fill(const stdfs::path& bundle, const std::string& config) {
    stdfs::create_directories(bundle / "precast/1-context");
    stdfs::create_directories(bundle / "a/b/c");
    put(bundle / "genai_config.json", config);
    put(bundle / "tokenizer.json", "tokens");
    put(bundle / "a/b/c/deep.txt", "deep");
    put(bundle / "precast/1-context/model.onnx", "compiled");
  }
  Result<Store::Committed> commit(Store& store, const std::string& name, const std::string& config = "config") {
    auto work = store.begin_work();
    if (!work) return std::unexpected<Error>(work.error());
    fill(work->output_folder() / kBundleFolder, config);
    return store.commit_bundle(*std::move(work), marker_for(name));
  }
  Marker must_commit(const std::string& name) {
    auto committed = commit(*store_, name);
    EXPECT_TRUE(committed) << committed.error().message;
    return committed ? committed->hit.marker : Marker{};
  }
  // As another process would see it.
  LookUp look_up(const std::string& name) {
    const auto store = testing::open_store(fs_, root_, &clock_);
    auto found = store->look_up(testing::key_for(name));
    EXPECT_TRUE(found) << found.error().message;
    return found ? *std::move(found) : LookUp{};
  }
  std::vector<std::string> findings() {
    const auto found = store_->verify({});
    EXPECT_TRUE(found);
    std::vector<std::string> texts;
    texts.reserve(found->size());
    for (const Finding& one : *found)
      texts.push_back((one.damaged ? "" : "note: ") + one.path.string() + ": " + one.message);
    return texts;
  }
  [[nodiscard]] stdfs::path bundle_of(const Marker& marker) const {
    return store_->layout().generation(marker.generation) / kBundleFolder;
  }

  // Hundreds of stores are made here; only bytes count, not what keeps them.
  testing::TemporaryFolder folder_{stdfs::is_directory("/dev/shm") ? "/dev/shm" : stdfs::temp_directory_path()};
  stdfs::path root_ = folder_ / "root";
  testing::TestFileSystem fs_;
  testing::TestClock clock_;
  std::unique_ptr<Store> store_;
};

std::vector<std::string> paths_of(const std::vector<Artifact>& artifacts) {
  std::vector<std::string> paths;
  paths.reserve(artifacts.size());
  for (const Artifact& artifact : artifacts) paths.push_back(artifact.path);
  return paths;
}

TEST_F(BundleCommit, IsFoundWithItsFolders) {
  const Marker marker = must_commit("a");
  const LookUp found = look_up("a");
  ASSERT_TRUE(found.hit) << found.miss_reason;
  EXPECT_EQ(found.hit->marker, marker);
  EXPECT_EQ(found.hit->model, bundle_of(marker) / "genai_config.json");
  EXPECT_EQ(testing::contents(bundle_of(marker) / "a/b/c/deep.txt"), "deep");
  EXPECT_THAT(paths_of(marker.artifacts), ElementsAre("bundle/genai_config.json", "bundle/a/b/c/deep.txt",
                                                      "bundle/precast/1-context/model.onnx", "bundle/tokenizer.json"));
  EXPECT_EQ(marker.artifacts[1].size, 4U);
  EXPECT_EQ(marker.artifacts[1].sha256, util::sha256_hex("deep"));
  // The manifest is the marker.
  EXPECT_EQ(testing::contents(found.hit->folder / kManifestName), serialize(marker));
  EXPECT_EQ(parse_marker(testing::contents(found.hit->folder / kManifestName)).value(), marker);
  EXPECT_THAT(findings(), ElementsAre());
}

TEST_F(BundleCommit, ItsFilesAreReadOnlyAndEveryFolderIsSynced) {
  auto work = store_->begin_work();
  ASSERT_TRUE(work);
  const stdfs::path out = work->output_folder();
  fill(out / kBundleFolder, "config");
  std::set<stdfs::path> synced;
  fs_.set_hook([&](std::string_view operation, const stdfs::path& path) -> std::optional<Error> {
    if (operation == "sync") synced.insert(path);
    return std::nullopt;
  });
  const auto committed = store_->commit_bundle(*std::move(work), marker_for("a"));
  fs_.set_hook({});
  ASSERT_TRUE(committed);
  for (const char* name : {"", "bundle", "bundle/a", "bundle/a/b", "bundle/a/b/c", "bundle/a/b/c/deep.txt",
                           "bundle/precast", "bundle/precast/1-context", "bundle/genai_config.json"}) {
    EXPECT_TRUE(synced.contains(std::string_view(name).empty() ? out : out / name)) << name;
  }
  for (const Artifact& artifact : committed->hit.marker.artifacts) {
    EXPECT_EQ(fs_.stat(committed->hit.folder / artifact.path)->mode & 0222U, 0U) << artifact.path;
  }
}

TEST_F(BundleCommit, AWarmHitReadsNoByteOfIt) {
  const Marker marker = must_commit("a");
  testing::TestFileSystem fs;
  const auto store = testing::open_store(fs, root_, &clock_);
  ASSERT_TRUE(store->look_up(marker.key)->hit);
  for (const Artifact& artifact : marker.artifacts) {
    EXPECT_EQ(fs.bytes_read(store->layout().generation(marker.generation) / artifact.path), 0U) << artifact.path;
  }
}

TEST_F(BundleCommit, WithoutConfigurationOrWithALinkItIsRefused) {
  auto work = store_->begin_work();
  ASSERT_TRUE(work);
  stdfs::create_directories(work->output_folder() / kBundleFolder);
  put(work->output_folder() / kBundleFolder / "tokenizer.json", "x");
  const auto without = store_->commit_bundle(*std::move(work), marker_for("a"));
  ASSERT_FALSE(without);
  EXPECT_THAT(without.error().message, HasSubstr("bundle/genai_config.json"));

  work = store_->begin_work();
  ASSERT_TRUE(work);
  fill(work->output_folder() / kBundleFolder, "config");
  stdfs::create_symlink("/etc/passwd", work->output_folder() / kBundleFolder / "a/link");
  const auto with = store_->commit_bundle(*std::move(work), marker_for("a"));
  ASSERT_FALSE(with);
  EXPECT_THAT(with.error().message, HasSubstr("'bundle/a/link', which is not a regular file"));
  EXPECT_FALSE(look_up("a").hit);
  EXPECT_EQ(testing::entries_in(store_->layout().tmp()), 0U);
  EXPECT_EQ(testing::entries_in(store_->layout().leases()), 0U);
}

TEST_F(BundleCommit, AChangedFileBelowAFolderIsAMissAndDamage) {
  const Marker marker = must_commit("a");
  testing::change_quietly(bundle_of(marker) / "a/b/c/deep.txt");
  EXPECT_EQ(look_up("a").miss_reason, "bundle/a/b/c/deep.txt has other bytes than were stored");
  EXPECT_THAT(findings(), ElementsAre(HasSubstr("bundle/a/b/c/deep.txt: has other bytes than were stored")));
}

TEST_F(BundleCommit, AMissingFileBelowAFolderIsAMissAndDamage) {
  const Marker marker = must_commit("a");
  stdfs::remove(bundle_of(marker) / "a/b/c/deep.txt");
  EXPECT_THAT(look_up("a").miss_reason, HasSubstr("deep.txt"));
  EXPECT_THAT(findings(), ElementsAre(HasSubstr("bundle/a/b/c/deep.txt: the file is missing")));
  stdfs::remove_all(bundle_of(marker) / "a");
  EXPECT_THAT(look_up("a").miss_reason, HasSubstr("deep.txt"));
}

TEST_F(BundleCommit, AnAddedFileIsNoted) {
  const Marker marker = must_commit("a");
  put(bundle_of(marker) / "a/b/added", "x");
  EXPECT_THAT(findings(),
              ElementsAre(::testing::AllOf(HasSubstr("note: "), HasSubstr("bundle/a/b/added: not a file of"))));
}

TEST_F(BundleCommit, AFileThatBecameALinkToItsBytesIsDamage) {
  const Marker marker = must_commit("a");
  stdfs::rename(bundle_of(marker) / "tokenizer.json", folder_ / "elsewhere");
  stdfs::create_symlink(folder_ / "elsewhere", bundle_of(marker) / "tokenizer.json");
  EXPECT_THAT(findings(), ElementsAre(HasSubstr("bundle/tokenizer.json: not a regular file")));
}

TEST_F(BundleCommit, AMarkerWhosePathLeadsElsewhereIsNotUsed) {
  Marker marker = must_commit("a");
  const Marker good = marker;
  for (const char* path :
       {"bundle/../x", "../x", "bundle/..", "bundle/.", "/bundle/x", "bundle//x", "bundle/x/", "bundle/", "bundle",
        "tokenizer.json", "model.onnx", "bundle/./x", "bundlex/y", "manifest.1.json"}) {
    marker = good;
    marker.artifacts[1].path = path;
    const auto parsed = parse_marker(serialize(marker));
    ASSERT_FALSE(parsed) << path;
    EXPECT_THAT(parsed.error().message, HasSubstr("not a plain relative file name")) << path;
    stdfs::permissions(store_->layout().marker(marker.key), stdfs::perms::owner_all);
    put(store_->layout().marker(marker.key), serialize(marker));
    EXPECT_THAT(look_up("a").miss_reason, HasSubstr("its marker is not used")) << path;
  }
  marker = good;
  marker.artifacts[1].path = std::string("bundle/a\0b", 10);
  EXPECT_FALSE(parse_marker(serialize(marker)));
  EXPECT_TRUE(parse_marker(serialize(good)));
}

TEST_F(BundleCommit, AModelsMarkerHasNoFolders) {
  Marker marker = testing::must_commit(*store_, marker_for("model"));
  ASSERT_TRUE(parse_marker(serialize(marker)));
  for (const char* path : {"bundle/npu.bin", "below/npu.bin", "bundle/genai_config.json"}) {
    Marker other = marker;
    other.artifacts.back().path = path;
    EXPECT_FALSE(parse_marker(serialize(other))) << path;
  }
  // And neither name first is no marker at all.
  std::swap(marker.artifacts.front(), marker.artifacts.back());
  EXPECT_FALSE(parse_marker(serialize(marker)));
}

TEST_F(BundleCommit, OneInodeCountsOnceInTheListing) {
  auto work = store_->begin_work();
  ASSERT_TRUE(work);
  fill(work->output_folder() / kBundleFolder, "config");
  const stdfs::path bundle = work->output_folder() / kBundleFolder;
  put(bundle / "large", std::string(1 << 20, 'x'));
  stdfs::create_hard_link(bundle / "large", bundle / "a/b/again");
  const auto committed = store_->commit_bundle(*std::move(work), marker_for("a"));
  ASSERT_TRUE(committed);
  const auto entries = store_->list();
  ASSERT_EQ(entries->size(), 1U);
  EXPECT_GE(entries->front().bytes, 1U << 20U);
  EXPECT_LT(entries->front().bytes, (1U << 20U) + (1U << 19U));
}

TEST_F(BundleCommit, TheFamilyOfABundleIsKeptShort) {
  const auto store = testing::open_store(fs_, root_, &clock_, 2);
  for (const char* name : {"a", "b", "c"}) {
    const auto committed = commit(*store, name);
    ASSERT_TRUE(committed);
    clock_.advance(std::chrono::hours(48));
  }
  const auto newest = store->look_up(testing::key_for("c"));
  ASSERT_TRUE(newest->hit);
  store->retain(newest->hit->marker);
  EXPECT_FALSE(look_up("a").hit);
  EXPECT_TRUE(look_up("b").hit);
  EXPECT_TRUE(look_up("c").hit);
  EXPECT_EQ(testing::entries_in(store->layout().generations()), 2U);
  EXPECT_EQ(testing::entries_in(store->layout().leases()), 2U);
  EXPECT_EQ(testing::entries_in(store->layout().tmp()), 0U);
}

TEST_F(BundleCommit, AReplacedBundleLeavesWithItsFoldersOnceNobodyUsesIt) {
  auto old = commit(*store_, "a", "old");
  ASSERT_TRUE(old);
  auto fresh = commit(*store_, "a", "new");
  ASSERT_TRUE(fresh);
  store_->retain(fresh->hit.marker, std::chrono::seconds(0));
  EXPECT_EQ(testing::contents(old->hit.model), "old");  // its lease is held
  const stdfs::path folder = old->hit.folder;
  old->hit.lease.release();
  store_->retain(fresh->hit.marker, std::chrono::seconds(0));
  EXPECT_FALSE(stdfs::exists(folder));
  EXPECT_EQ(testing::contents(fresh->hit.model), "new");
}

TEST_F(BundleCommit, TheCommitOfAKilledProcessIsWholeOrSwept) {
  constexpr int kKilled = 99;
  bool was_a_hit = false;
  clock_.advance(std::chrono::hours(2));
  for (int call = 1;; ++call) {
    const std::string where = "killed at call " + std::to_string(call);
    const int code = testing::in_child([&] {
      testing::TestFileSystem fs;
      const auto store = testing::open_store(fs, root_, &clock_);
      int calls = 0;
      fs.set_hook([&](std::string_view, const stdfs::path&) -> std::optional<Error> {
        if (++calls == call) _exit(kKilled);
        return std::nullopt;
      });
      return commit(*store, "a") ? 0 : 1;
    });
    ASSERT_TRUE(code == 0 || code == kKilled) << where << ": " << code;
    const LookUp found = look_up("a");
    if (found.hit) {
      EXPECT_EQ(testing::contents(found.hit->folder / "bundle/a/b/c/deep.txt"), "deep") << where;
    } else {
      EXPECT_EQ(found.miss_reason, "no entry for this identity") << where;
    }
    was_a_hit = was_a_hit || found.hit.has_value();
    store_->retain(marker_for("some other", "/models/other.onnx"), std::chrono::seconds(0));
    EXPECT_EQ(testing::entries_in(store_->layout().tmp()), 0U) << where;
    EXPECT_EQ(testing::entries_in(store_->layout().generations()), store_->list()->size()) << where;
    EXPECT_EQ(testing::entries_in(store_->layout().leases()), store_->list()->size()) << where;
    EXPECT_THAT(findings(), ElementsAre()) << where;
    if (code == 0) break;
  }
  EXPECT_TRUE(was_a_hit);
}

class HashAgain : public BundleCommit {
 protected:
  HashAgain() : marker_(testing::must_commit(*store_, marker_for("a"))) {}
  [[nodiscard]] stdfs::path generation() const { return store_->layout().generation(marker_.generation); }
  // What a new process reads of the artifacts to find them.
  std::uint64_t bytes_read_by_a_hit() {
    testing::TestFileSystem fs;
    const auto store = testing::open_store(fs, root_, &clock_);
    EXPECT_TRUE(store->look_up(marker_.key)->hit);
    return fs.bytes_read(generation() / kModelName) + fs.bytes_read(generation() / "npu.bin");
  }
  Marker marker_;
};

TEST_F(HashAgain, AHitAfterASecondNameWasMadeReadsNothing) {
  ASSERT_EQ(bytes_read_by_a_hit(), 0U);
  clock_.advance(std::chrono::seconds(1));
  for (const Artifact& artifact : marker_.artifacts) {
    ASSERT_TRUE(fs_.link(generation() / artifact.path, root_ / "tmp" / artifact.path));
  }
  ASSERT_TRUE(store_->hash_again(marker_.generation, marker_.artifacts));
  EXPECT_EQ(bytes_read_by_a_hit(), 0U);
}

TEST_F(HashAgain, WithoutItTheHitHashes) {
  ASSERT_TRUE(fs_.link(generation() / "npu.bin", root_ / "tmp/second"));
  EXPECT_EQ(bytes_read_by_a_hit(), std::string("context binary").size());
}

TEST_F(HashAgain, OtherBytesAreCorrupt) {
  ASSERT_TRUE(fs_.link(generation() / "npu.bin", root_ / "tmp/second"));
  testing::change_quietly(generation() / "npu.bin");
  const auto hashed = store_->hash_again(marker_.generation, marker_.artifacts);
  ASSERT_FALSE(hashed);
  EXPECT_EQ(hashed.error().code, ErrorCode::corrupt);
  EXPECT_EQ(hashed.error().path, generation() / "npu.bin");
  EXPECT_EQ(look_up("a").miss_reason, "npu.bin has other bytes than were stored");
}

TEST_F(HashAgain, AMissingFileIsAnError) {
  stdfs::remove(generation() / "npu.bin");
  EXPECT_FALSE(store_->hash_again(marker_.generation, marker_.artifacts));
}

}  // namespace
}  // namespace precast::store
