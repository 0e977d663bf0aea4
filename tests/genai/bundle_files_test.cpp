#include "genai/bundle_files.hpp"

#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fs/temporary_folder.hpp"

namespace precast::genai {
namespace {

namespace stdfs = std::filesystem;
using fs::testing::put;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class FilesOfBundle : public ::testing::Test {
 protected:
  FilesOfBundle() {
    stdfs::create_directories(bundle_ / "data/deep");
    put(bundle_ / "tokenizer.json", "x");
    put(bundle_ / "data/deep/file", "x");
  }
  std::vector<std::string> names(const std::set<stdfs::path>& without = {}) {
    const auto files = files_of_bundle(fs::FileSystem::posix(), bundle_, without);
    EXPECT_TRUE(files) << files.error().message;
    std::vector<std::string> found;
    if (!files) return found;
    for (const BundleFile& file : *files) {
      const stdfs::path from = file.from.lexically_relative(stdfs::canonical(bundle_));
      found.push_back(file.name == from ? file.name.string() : file.name.string() + " = " + from.string());
    }
    return found;
  }
  // bad_input that names the link.
  void expect_refused(const std::string& name, const std::string& words) {
    const auto files = files_of_bundle(fs::FileSystem::posix(), bundle_, {});
    ASSERT_FALSE(files) << name;
    EXPECT_EQ(files.error().code, ErrorCode::bad_input);
    EXPECT_THAT(files.error().message, HasSubstr("'" + name + "'"));
    EXPECT_THAT(files.error().message, HasSubstr(words));
    EXPECT_FALSE(files.error().hint.empty());
    EXPECT_FALSE(files.error().path.empty());
  }
  fs::testing::TemporaryFolder folder_;
  stdfs::path bundle_ = folder_ / "bundle";
};

TEST_F(FilesOfBundle, AreAllRegularOnesInOrderButThoseLeftOut) {
  put(bundle_ / "data/model.onnx", "x");
  put(bundle_ / "a", "");
  stdfs::create_directories(bundle_ / "empty");
  EXPECT_THAT(names(), ElementsAre("a", "data/deep/file", "data/model.onnx", "tokenizer.json"));
  EXPECT_THAT(names({"data/model.onnx", "tokenizer.json", "deep/file"}), ElementsAre("a", "data/deep/file"));
}

TEST_F(FilesOfBundle, LinksInsideStandForWhatTheyLeadTo) {
  stdfs::create_symlink("tokenizer.json", bundle_ / "file");
  stdfs::create_symlink(bundle_ / "tokenizer.json", bundle_ / "absolute");
  stdfs::create_symlink("file", bundle_ / "link_of_link");
  stdfs::create_directory_symlink("../data", bundle_ / "data/../other");
  stdfs::remove(bundle_ / "other");
  stdfs::create_directory_symlink("data", bundle_ / "other");
  stdfs::create_symlink("../../tokenizer.json", bundle_ / "data/deep/up");
  EXPECT_THAT(names(),
              ElementsAre("absolute = tokenizer.json", "data/deep/file", "data/deep/up = tokenizer.json",
                          "file = tokenizer.json", "link_of_link = tokenizer.json", "other/deep/file = data/deep/file",
                          "other/deep/up = tokenizer.json", "tokenizer.json"));
}

TEST_F(FilesOfBundle, TheBundleItselfMayBeReachedThroughALink) {
  stdfs::rename(bundle_, folder_ / "real");
  stdfs::create_directory_symlink("real", bundle_);
  stdfs::create_symlink("tokenizer.json", bundle_ / "file");
  EXPECT_THAT(names(), ElementsAre("data/deep/file", "file = tokenizer.json", "tokenizer.json"));
}

TEST_F(FilesOfBundle, ADanglingLinkIsRefused) {
  stdfs::create_symlink("nowhere", bundle_ / "data/dangling");
  expect_refused("data/dangling", "leads to nothing");
}

TEST_F(FilesOfBundle, ALinkToItselfIsRefused) {
  stdfs::create_symlink("itself", bundle_ / "itself");
  expect_refused("itself", "leads to nothing");
}

TEST_F(FilesOfBundle, ALinkThatLeadsOutIsRefused) {
  put(folder_ / "secret", "x");
  stdfs::create_symlink("../secret", bundle_ / "out");
  expect_refused("out", "leads out of the bundle");
}

TEST_F(FilesOfBundle, AFolderBesideItWithALongerNameIsOutside) {
  stdfs::create_directories(folder_ / "bundle2");
  put(folder_ / "bundle2/file", "x");
  stdfs::create_symlink("../bundle2/file", bundle_ / "out");
  expect_refused("out", "leads out of the bundle");
}

TEST_F(FilesOfBundle, ALinkToAFolderOutsideIsRefused) {
  stdfs::create_directory_symlink("..", bundle_ / "data/out");
  stdfs::create_directory_symlink("../..", bundle_ / "data/really_out");
  stdfs::remove(bundle_ / "data/out");
  expect_refused("data/really_out", "leads out of the bundle");
}

TEST_F(FilesOfBundle, LinksInACircleAreRefused) {
  stdfs::create_directory_symlink("..", bundle_ / "data/circle");
  const auto files = files_of_bundle(fs::FileSystem::posix(), bundle_, {});
  ASSERT_FALSE(files);
  EXPECT_EQ(files.error().code, ErrorCode::bad_input);
  EXPECT_THAT(files.error().message, HasSubstr("in a circle"));
  EXPECT_THAT(files.error().message, HasSubstr("data/circle"));
}

TEST_F(FilesOfBundle, WhatToolsKeepThereIsLeftOut) {
  for (const char* name : {".git/objects", ".cache/huggingface", "data/.git"})
    stdfs::create_directories(bundle_ / name);
  put(bundle_ / ".git/objects/x", "x");
  put(bundle_ / ".cache/huggingface/x", "x");
  stdfs::create_symlink("/nowhere", bundle_ / ".cache/dangling");
  put(bundle_ / "data/.git/x", "x");  // not the bundle's: data of the user's
  put(bundle_ / ".gitattributes", "x");
  put(bundle_ / ".precast-01234567-89ab-4cde-8f01-23456789abcd.tmp", "half");
  EXPECT_THAT(names(), ElementsAre(".gitattributes", "data/.git/x", "data/deep/file", "tokenizer.json"));
}

TEST_F(FilesOfBundle, AFifoIsNoFile) {
  ASSERT_EQ(mkfifo((bundle_ / "fifo").c_str(), 0600), 0);
  stdfs::create_symlink("fifo", bundle_ / "link");
  EXPECT_THAT(names(), ElementsAre("data/deep/file", "tokenizer.json"));
}

TEST_F(FilesOfBundle, ANameThatIsNotUtf8IsRefused) {
  put(bundle_ /
          "data/gr\xFC\xDF"
          "e",
      "x");
  const auto files = files_of_bundle(fs::FileSystem::posix(), bundle_, {});
  ASSERT_FALSE(files);
  EXPECT_EQ(files.error().code, ErrorCode::bad_input);
  EXPECT_THAT(files.error().message, HasSubstr("data/gr\\xfc\\xdfe"));
}

TEST_F(FilesOfBundle, UmlautsAndEmojiAreNames) {
  put(bundle_ / "\u00FCber \U0001F600", "x");
  EXPECT_THAT(names(), ElementsAre("data/deep/file", "tokenizer.json", "\u00FCber \U0001F600"));
}

TEST_F(FilesOfBundle, NoFolderIsNotFound) {
  const auto files = files_of_bundle(fs::FileSystem::posix(), folder_ / "missing", {});
  ASSERT_FALSE(files);
  EXPECT_EQ(files.error().code, ErrorCode::not_found);
  EXPECT_THAT(files.error().message, HasSubstr("missing"));
}

}  // namespace
}  // namespace precast::genai
