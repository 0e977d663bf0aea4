// Where tensors are read from and written to: folders, names of files, what is there already.
#include <csignal>

#include <sys/resource.h>
#include <sys/stat.h>

#include "tensor_support.hpp"

namespace precast::bench {
namespace {

using testing::IsEmpty;

const std::string kArray = npy_of_type("<f4", "(1,)", "1234");

std::vector<std::string> names_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) names.push_back(entry.path().filename());
  return names;
}

std::string proto_bytes(const std::string& name, float value) {
  onnx::TensorProto proto;
  proto.set_data_type(Type::FLOAT);
  proto.set_name(name);
  proto.add_float_data(value);
  return proto.SerializeAsString();
}

TEST(ReadPlace, Missing) {
  const TemporaryFolder folder;
  const auto read = read_tensors(folder / "none.npz", {});
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::not_found);
  EXPECT_THAT(read.error().message, testing::HasSubstr("none.npz'"));
}

TEST(ReadPlace, NeitherArchiveNorFolder) {
  const TemporaryFolder folder;
  expect_bad(read_tensors(folder.write("x.npy", kArray), {}), "x.npy'", "is neither a .npz nor a folder");
}

TEST(ReadPlace, FolderWithoutInputs) {
  const TemporaryFolder folder;
  (void)folder.write("output_0.pb", proto_bytes("y", 1));
  (void)folder.write("input_.pb", "");
  (void)folder.write("input_x.pb", "");
  (void)folder.write("notes.txt", "");
  expect_bad(read_tensors(folder / "", {"x"}), "", "has neither NAME.npy nor input_0.pb in it");
}

TEST(ReadPlace, FolderOfBothKinds) {
  const TemporaryFolder folder;
  (void)folder.write("a.npy", kArray);
  (void)folder.write("input_1.pb", proto_bytes("", 1));
  (void)folder.write("input_7.pb", proto_bytes("c", 2));
  (void)folder.write("output_0.pb", "not looked at");
  const auto read = read_tensors(folder / "", {"a", "b"});
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->size(), 3U);
  EXPECT_EQ(read->at("a").path, folder / "a.npy");
  EXPECT_EQ(read->at("b").tensor, floats({}, {1}));
  EXPECT_EQ(read->at("c").tensor, floats({}, {2}));
}

TEST(ReadPlace, ProtoWithoutANamePastTheModelsInputs) {
  const TemporaryFolder folder;
  (void)folder.write("input_2.pb", proto_bytes("", 1));
  expect_bad(read_tensors(folder / "", {"a", "b"}), "input_2.pb'", "the model has only 2 inputs: there is no input 2");
}

TEST(ReadPlace, ANameInTwoFiles) {
  const TemporaryFolder folder;
  (void)folder.write("a.npy", kArray);
  (void)folder.write("input_0.pb", proto_bytes("a", 1));
  expect_bad(read_tensors(folder / "", {}), "input_0.pb'", "holds 'a', which is in '");
}

TEST(ReadPlace, FileNamesThatAreNoTensors) {
  for (const char* name : {"100%.npy", "%2.npy", "%zz.npy", "%ff.npy", "\xff.npy"}) {
    const TemporaryFolder folder;
    (void)folder.write(name, kArray);
    expect_bad(read_tensors(folder / "", {}), ".npy'", "has a name that is no tensor's");
  }
}

TEST(ReadPlace, EscapesInFileNamesOfEitherCase) {
  const TemporaryFolder folder;
  (void)folder.write("a%2fb%2Fc.npy", kArray);
  EXPECT_TRUE(read_tensors(folder / "", {})->contains("a/b/c"));
}

TEST(ReadPlace, PipesAndFoldersInThePlaceOfFiles) {
  const TemporaryFolder folder;
  ASSERT_EQ(mkfifo((folder / "a.npz").c_str(), 0600), 0);
  expect_bad(read_tensors(folder / "a.npz", {}), "a.npz'", "is not a regular file");
  std::filesystem::create_directories(folder / "b/x.npy");
  expect_bad(read_tensors(folder / "b", {}), "x.npy'", "is not a regular file");
}

TEST(WritePlace, AnArchiveIsReplacedOnlyWhenAskedTo) {
  const TemporaryFolder folder;
  const auto path = folder.write("a.npz", "mine");
  const tensor::Tensors tensors = {{"x", floats({1}, {1})}};
  const auto refused = write_tensors(path, tensors, false);
  expect_bad(refused, "a.npz'", "is there already");
  EXPECT_THAT(refused.error().hint, testing::HasSubstr("--overwrite"));
  EXPECT_EQ(read_bytes(path), "mine");
  ASSERT_TRUE(write_tensors(path, tensors, true));
  EXPECT_EQ(read_tensors(path, {})->at("x").tensor, tensors.at("x"));
  EXPECT_THAT(names_in(folder / ""), testing::ElementsAre("a.npz"));
}

TEST(WritePlace, AFolderIsWrittenWhollyOrNotAtAll) {
  const TemporaryFolder folder;
  (void)folder.write("z.npy", "mine");
  const tensor::Tensors tensors = {{"a", floats({1}, {1})}, {"z", floats({1}, {2})}};
  const auto refused = write_tensors(folder / "", tensors, false);
  expect_bad(refused, "z.npy'", "is there already");
  EXPECT_THAT(refused.error().hint, testing::HasSubstr("--overwrite"));
  EXPECT_THAT(names_in(folder / ""), testing::ElementsAre("z.npy"));
  ASSERT_TRUE(write_tensors(folder / "", tensors, true));
  EXPECT_EQ(read_tensors(folder / "", {})->at("z").tensor, tensors.at("z"));
  EXPECT_THAT(names_in(folder / ""), testing::UnorderedElementsAre("a.npy", "z.npy"));
}

TEST(WritePlace, OtherFilesOfAFolderAreLeftAlone) {
  const TemporaryFolder folder;
  const auto other = folder.write("other.npy", "mine");
  ASSERT_TRUE(write_tensors(folder / "", {{"x", floats({1}, {1})}}, false));
  EXPECT_EQ(read_bytes(other), "mine");
}

TEST(WritePlace, FileInThePlaceOfAFolder) {
  const TemporaryFolder folder;
  const auto path = folder.write("out.txt", "mine");
  expect_bad(write_tensors(path, {{"x", floats({1}, {1})}}, true), "out.txt'", "is a file");
  EXPECT_EQ(read_bytes(path), "mine");
}

TEST(WritePlace, FolderInThePlaceOfAnArchive) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "a.npz");
  expect_bad(write_tensors(folder / "a.npz", {{"x", floats({1}, {1})}}, true), "a.npz'", "is a folder");
}

TEST(WritePlace, ArchiveInAFolderThatIsNotThere) {
  const TemporaryFolder folder;
  const auto written = write_tensors(folder / "none/a.npz", {{"x", floats({1}, {1})}}, false);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::not_found);
  EXPECT_THAT(written.error().message, testing::HasSubstr("none/a.npz': No such file or directory"));
  EXPECT_FALSE(written.error().hint.empty());
}

TEST(WritePlace, TypeThatNumpyCannotCarry) {
  const TemporaryFolder folder;
  const tensor::Tensors tensors = {{"a", floats({1}, {1})}, {"x", {.element_type = Type::FLOAT6E2M3, .shape = {0}}}};
  for (const auto& path : {folder / "a.npz", folder / "b"}) {
    const auto written = write_tensors(path, tensors, false);
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().code, ErrorCode::unsupported);
    EXPECT_THAT(written.error().message, testing::HasSubstr("tensor 'x' of type float6_e2m3fn cannot be written"));
  }
  EXPECT_THAT(names_in(folder / ""), testing::ElementsAre("b"));  // nothing is left of the archive
}

TEST(WritePlace, TextThatNumpyCannotHold) {
  const TemporaryFolder folder;
  for (const std::string& text : {std::string("a\0", 2), std::string("\xff")}) {
    expect_bad(write_tensors(folder / "a.npz", {{"x", texts({1}, {text})}}, false), "tensor 'x'", "cannot hold");
  }
  EXPECT_THAT(names_in(folder / ""), IsEmpty());
}

TEST(WritePlace, TensorThatIsNotWhatItsShapeSays) {
  const TemporaryFolder folder;
  const auto written = write_tensors(folder / "a.npz", {{"x", floats({2}, {1})}}, false);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::internal);
  EXPECT_THAT(written.error().message, testing::HasSubstr("tensor 'x' does not hold what its shape [2] says"));
}

TEST(WritePlace, FilesHaveTheModeThatTheUmaskLeaves) {
  const TemporaryFolder folder;
  const mode_t old = umask(027);
  const tensor::Tensors tensors = {{"x", floats({1}, {1})}};
  const bool written = write_tensors(folder / "a.npz", tensors, false) && write_tensors(folder / "b", tensors, false);
  umask(old);
  ASSERT_TRUE(written);
  using std::filesystem::perms;
  for (const auto& path : {folder / "a.npz", folder / "b/x.npy"}) {
    EXPECT_EQ(std::filesystem::status(path).permissions(), perms::owner_read | perms::owner_write | perms::group_read);
  }
}

// A process may not write files past this size.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : old_handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &old_);
    const rlimit limit{bytes, old_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &old_);
    (void)std::signal(SIGXFSZ, old_handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit old_{};
  void (*old_handler_)(int);
};

TEST(WritePlace, NothingIsLeftWhenTheSystemRefusesToWrite) {
  const TemporaryFolder folder;
  tensor::Tensor large{.element_type = Type::UINT8, .shape = {1 << 20}};
  large.bytes.resize(std::size_t{1} << 20U);
  std::filesystem::create_directory(folder / "b");
  for (const auto& path : {folder / "a.npz", folder / "b"}) {
    Result<void> written;
    {
      const FileSizeLimit limit(std::size_t{64} << 10U);
      written = write_tensors(path, {{"x", large}}, false);
    }
    ASSERT_FALSE(written) << path;
    EXPECT_EQ(written.error().code, ErrorCode::io);
    EXPECT_THAT(written.error().message, testing::HasSubstr(": File too large"));
  }
  EXPECT_THAT(names_in(folder / ""), testing::ElementsAre("b"));
  EXPECT_THAT(names_in(folder / "b"), IsEmpty());
}

// All of them are written before the first one is in its place.
TEST(WritePlace, OldAndNewArraysAreNeverMixed) {
  const TemporaryFolder folder;
  const tensor::Tensors old{{"a", floats({1}, {1})}, {"b", floats({1}, {1})}};
  ASSERT_TRUE(write_tensors(folder / "out", old, false));
  tensor::Tensor large{.element_type = Type::FLOAT, .shape = {1 << 16}};
  large.bytes.resize(std::size_t{4} << 16U);
  const auto written = [&] {
    const FileSizeLimit limit(4096);
    return write_tensors(folder / "out", {{"a", floats({1}, {2})}, {"b", large}}, true);
  }();
  ASSERT_FALSE(written);
  const auto read = read_tensors(folder / "out", {});
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->at("a").tensor, old.at("a"));
  EXPECT_EQ(names_in(folder / "out").size(), 2U) << "and nothing half-written is left";
}

TEST(WritePlace, ANameThatIsTooLongForAFileIsSaidSoBeforeAnythingIsWritten) {
  const TemporaryFolder folder;
  const std::string name(300, 'n');
  const auto written = write_tensors(folder / "out", {{"a", floats({1}, {1})}, {name, floats({1}, {1})}}, false);
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().message, testing::HasSubstr("too long for a file"));
  EXPECT_THAT(written.error().hint, testing::HasSubstr(".npz"));
  EXPECT_FALSE(std::filesystem::exists(folder / "out"));
  EXPECT_TRUE(write_tensors(folder / "out.npz", {{name, floats({1}, {1})}}, false));
}

TEST(WritePlace, ControlCharactersOfANameDoNotReachTheFolder) {
  const TemporaryFolder folder;
  ASSERT_TRUE(write_tensors(folder / "out", {{"a\n\x1b", floats({1}, {1})}}, false));
  EXPECT_THAT(names_in(folder / "out"), testing::ElementsAre("a%0A%1B.npy"));
  EXPECT_TRUE(read_tensors(folder / "out", {})->contains("a\n\x1b"));
}

}  // namespace
}  // namespace precast::bench
