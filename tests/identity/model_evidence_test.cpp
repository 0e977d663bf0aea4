#include <sys/stat.h>

#include <gmock/gmock.h>

#include "fs/counting_file_system.hpp"
#include "support.hpp"
#include "util/sha256.hpp"

namespace precast::identity::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Model : public TempFolder {
 protected:
  Result<ModelEvidence> take(const stdfs::path& model) { return take_model_evidence(fs_, digester_, model); }
  Error error_of(const stdfs::path& model) {
    const auto evidence = take(model);
    EXPECT_FALSE(evidence);
    return evidence ? Error{} : evidence.error();
  }
  fs::CountingFileSystem fs_{fs::FileSystem::posix()};
  RecordingDigester digester_{fs::FileSystem::posix()};
};

TEST_F(Model, GraphFirstThenDataInTheOrderOfLocations) {
  const stdfs::path model = write("m/model.onnx", onnx_bytes({{"w2", "z.bin", 0, 3}, {"w1", "sub/a.bin", 0, 2}}));
  write("m/z.bin", "zzz");
  write("m/sub/a.bin", "aa");
  const auto evidence = take(model);
  ASSERT_TRUE(evidence) << evidence.error().message;
  EXPECT_EQ(evidence->model, model);
  ASSERT_EQ(evidence->files.size(), 3U);
  EXPECT_EQ(evidence->files[0].path, model);
  EXPECT_EQ(evidence->files[1].path, folder_ / "m/sub/a.bin");
  EXPECT_EQ(evidence->files[1].sha256, util::sha256_hex("aa"));
  EXPECT_EQ(evidence->files[2].sha256, util::sha256_hex("zzz"));
  EXPECT_FALSE(evidence->through_links);
  const std::string group = "model:" + model.string();
  EXPECT_THAT(digester_.groups_, ElementsAre(group, group));
}

TEST_F(Model, WarmReadsAndParsesNothing) {
  const stdfs::path model = write("model.onnx", onnx_bytes({{"w", "w.bin", 0, 4}}));
  write("w.bin", "1234");
  const auto cold = take(model);
  ASSERT_TRUE(cold);
  fs_.reset();
  digester_.from_memory_ = true;
  const auto warm = take(model);
  ASSERT_TRUE(warm);
  EXPECT_EQ(*warm, *cold);
  EXPECT_EQ(fs_.counts().total(), 0U);
}

TEST_F(Model, DamagedFactsAreReadAgain) {
  const stdfs::path model = write("model.onnx", onnx_bytes());
  ASSERT_TRUE(take(model));
  ASSERT_EQ(digester_.facts_.size(), 1U);
  digester_.facts_.begin()->second = "nonsense";
  EXPECT_TRUE(take(model));
  EXPECT_NE(digester_.facts_.begin()->second, "nonsense");
}

TEST_F(Model, ReplacedBetweenDigestAndFactsIsNoticedAndNothingRemembered) {
  const stdfs::path model = write("model.onnx", onnx_bytes());
  digester_.after_digest_ = [&] {
    write("new", onnx_bytes({}, "another"));
    stdfs::rename(folder_ / "new", model);
  };
  EXPECT_EQ(error_of(model).code, ErrorCode::busy);
  EXPECT_TRUE(digester_.facts_.empty());
}

TEST_F(Model, LinkedModelOrDataAsksForStaging) {
  write("blobs/1", onnx_bytes({{"w", "w.bin", 0, 1}}));
  write("blobs/2", "w");
  stdfs::create_directories(folder_ / "snapshot");
  stdfs::create_symlink("../blobs/1", folder_ / "snapshot/model.onnx");
  stdfs::create_symlink("../blobs/2", folder_ / "snapshot/w.bin");
  const auto evidence = take(folder_ / "snapshot/model.onnx");
  ASSERT_TRUE(evidence) << evidence.error().message;
  EXPECT_TRUE(evidence->through_links);
  EXPECT_EQ(evidence->files[1].path, folder_ / "snapshot/w.bin");
}

TEST_F(Model, LinkedSubFolderOfDataAsksForStaging) {
  const stdfs::path model = write("m/model.onnx", onnx_bytes({{"w", "data/w.bin", 0, 1}}));
  write("elsewhere/w.bin", "w");
  stdfs::create_directory_symlink("../elsewhere", folder_ / "m/data");
  const auto evidence = take(model);
  ASSERT_TRUE(evidence);
  EXPECT_TRUE(evidence->through_links);
}

TEST_F(Model, LinkAboveTheModelsFolderIsEvidenceButNoReasonToStage) {
  write("real/model.onnx", onnx_bytes({{"w", "w.bin", 0, 1}}));
  write("real/w.bin", "w");
  stdfs::create_directory_symlink("real", folder_ / "link");
  const auto evidence = take(folder_ / "link/model.onnx");
  ASSERT_TRUE(evidence);
  EXPECT_FALSE(evidence->through_links);
  EXPECT_EQ(evidence->model, folder_ / "link/model.onnx");
  EXPECT_EQ(evidence->files[0].links.size(), 1U);
}

TEST_F(Model, MissingDataNamesTensorLocationAndFile) {
  const Error error = error_of(write("model.onnx", onnx_bytes({{"weights.7", "w.bin", 0, 1}})));
  EXPECT_EQ(error.code, ErrorCode::bad_input);
  EXPECT_THAT(error.message, AllOf(HasSubstr("weights.7"), HasSubstr("'w.bin'"),
                                   HasSubstr((folder_ / "w.bin").string()), HasSubstr("missing")));
}

TEST_F(Model, ShortDataNamesTensorLocationFileAndSizes) {
  write("w.bin", "12345");
  const Error error = error_of(write("model.onnx", onnx_bytes({{"weights.7", "w.bin", 4, 4}})));
  EXPECT_EQ(error.code, ErrorCode::bad_input);
  EXPECT_THAT(error.message, AllOf(HasSubstr("weights.7"), HasSubstr("'w.bin'"), HasSubstr("5 bytes"), HasSubstr("8")));
}

TEST_F(Model, FolderOrFifoAsDataIsSaidSo) {
  const stdfs::path model = write("model.onnx", onnx_bytes({{"w", "w.bin", 0, 1}}));
  stdfs::create_directory(folder_ / "w.bin");
  EXPECT_THAT(error_of(model).message, AllOf(HasSubstr("'w.bin'"), HasSubstr("a folder")));
  stdfs::remove(folder_ / "w.bin");
  ASSERT_EQ(::mkfifo((folder_ / "w.bin").c_str(), 0600), 0);
  EXPECT_THAT(error_of(model).message, AllOf(HasSubstr("'w.bin'"), HasSubstr("no regular file")));
}

TEST_F(Model, LocationOutsideTheFolderIsRefused) {
  write("outside.bin", "x");
  for (const char* location : {"../outside.bin", "/etc/hostname"}) {
    const Error error = error_of(write("m/model.onnx", onnx_bytes({{"w", location, 0, 1}})));
    EXPECT_EQ(error.code, ErrorCode::bad_input);
    EXPECT_THAT(error.message, HasSubstr(location));
  }
}

TEST_F(Model, BadModelsHaveAMessageEach) {
  stdfs::create_directory(folder_ / "dir");
  ASSERT_EQ(::mkfifo((folder_ / "fifo").c_str(), 0600), 0);
  write("empty", "");
  write("text", "this is no model, whatever its name says");
  write("cut", onnx_bytes({{"w", "w.bin", 0, 1}}).substr(0, 30));
  std::vector<std::string> messages;
  for (const char* name : {"dir", "fifo", "empty", "text", "cut", "missing"}) {
    const Error error = error_of(folder_ / name);
    EXPECT_TRUE(error.code == ErrorCode::bad_input || error.code == ErrorCode::not_found) << name << error.message;
    EXPECT_THAT(error.message, HasSubstr((folder_ / name).string()));
    std::string message = error.message;
    message.replace(message.find((folder_ / name).string()), (folder_ / name).string().size(), "?");
    messages.push_back(message);
  }
  std::sort(messages.begin(), messages.end());
  EXPECT_EQ(std::unique(messages.begin(), messages.end()), messages.end());
}

TEST_F(Model, ALocationThatNoFileCanHaveIsBadInput) {
  const std::string location(300, 'x');
  const Error error = error_of(write("model.onnx", onnx_bytes({{"weights", location, 0, 4}})));
  EXPECT_EQ(error.code, ErrorCode::bad_input);
  EXPECT_THAT(error.message, AllOf(HasSubstr("weights"), HasSubstr(location)));
}

TEST_F(Model, InterruptedIsNotBlamedOnTheFile) {
  const stdfs::path model = write("model.onnx", onnx_bytes({{"w", "w.bin", 0, 4}}));
  write("w.bin", "1234");
  util::CancelToken cancel;
  cancel.cancel();
  HashingDigester digester(fs_, &cancel);
  const auto evidence = take_model_evidence(fs_, digester, model);
  ASSERT_FALSE(evidence);
  EXPECT_EQ(evidence.error().code, ErrorCode::cancelled);
}

}  // namespace
}  // namespace precast::identity::test
