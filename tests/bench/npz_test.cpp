// Archives: what zip has and NumPy does not use, what is cut off, changed or hostile.
#include <algorithm>

#include "tensor_support.hpp"

namespace precast::bench {
namespace {

const std::string kArray = npy_of_type("<f4", "(2,)", "12345678");
constexpr std::string_view kLocalHead = "PK\3\4";
constexpr std::string_view kDirectoryHead = "PK\1\2";
constexpr std::size_t kEndSize = 22;  // of the end record, without a comment

std::string zip_of(const std::vector<ZipEntry>& entries) {
  const TemporaryFolder folder;
  make_zip(folder / "made.npz", entries);
  return read_bytes(folder / "made.npz");
}

Result<StoredTensors> read_zip(std::string_view bytes) {
  const TemporaryFolder folder;
  return read_tensors(folder.write("a.npz", bytes), {});
}

void put16(std::string& bytes, std::size_t at, std::size_t value) {
  bytes[at] = static_cast<char>(value & 0xFFU);
  bytes[at + 1] = static_cast<char>(value >> 8U & 0xFFU);
}

void put32(std::string& bytes, std::size_t at, std::size_t value) {
  put16(bytes, at, value & 0xFFFFU);
  put16(bytes, at + 2, value >> 16U);
}

TEST(Npz, CutOffAnywhere) {
  for (const char* name : {"names.npz", "text.npz"}) {
    const std::string whole = read_bytes(golden(name));
    ASSERT_TRUE(read_zip(whole));
    for (std::size_t size = 0; size < whole.size(); ++size) {
      const auto read = read_zip(whole.substr(0, size));
      ASSERT_FALSE(read) << name << size;
      EXPECT_EQ(read.error().code, ErrorCode::bad_input);
      EXPECT_THAT(read.error().message, testing::HasSubstr("a.npz'"));
    }
  }
}

TEST(Npz, EveryByteFlippedIsReadOrRefused) {
  for (const char* name : {"names.npz", "text.npz"}) {
    const std::string whole = read_bytes(golden(name));
    std::size_t refused = 0;
    for (std::size_t at = 0; at < whole.size(); ++at) {
      for (const int mask : {0xFF, 0x01, 0x80}) {
        std::string flipped = whole;
        flipped[at] = static_cast<char>(flipped[at] ^ mask);
        const auto read = read_zip(flipped);
        if (read) continue;
        ++refused;
        EXPECT_EQ(read.error().code, ErrorCode::bad_input) << read.error().message;
        EXPECT_THAT(read.error().message, testing::HasSubstr("a.npz'"));
      }
    }
    EXPECT_GT(refused, whole.size());  // a third at least: arrays are summed, heads mean something
  }
}

TEST(Npz, ChangedValuesAreFoundByTheirChecksum) {
  std::string bytes = zip_of({{"x.npy", kArray}});
  const std::size_t at = bytes.find("12345678");
  bytes[at] = '9';
  expect_bad(read_zip(bytes), "entry 'x.npy' of '", "is damaged: its checksum does not match");
}

TEST(Npz, ChangedDeflatedBytesCannotBeUnpacked) {
  std::string bytes = zip_of({{"x.npy", kArray, true}});
  const std::size_t data = bytes.find("x.npy") + 5;
  bytes[data] = '\xff';  // a block of a kind that deflate does not have
  expect_bad(read_zip(bytes), "entry 'x.npy' of '", "cannot be unpacked");
}

TEST(Npz, AnotherKindOfFile) {
  expect_bad(read_zip("GIF89a, say"), "a.npz'", "is not a NumPy archive");
  expect_bad(read_zip(""), "a.npz'", "is not a NumPy archive");
}

TEST(Npz, WithoutArrays) {
  expect_bad(read_zip(zip_of({})), "a.npz'", "has no arrays");
}

TEST(Npz, EntryThatIsNoArrayByName) {
  expect_bad(read_zip(zip_of({{"x.npy", kArray}, {"notes.txt", "hello"}})), "entry 'notes.txt' of '", "is no array");
}

TEST(Npz, EntryThatIsNoArrayInside) {
  expect_bad(read_zip(zip_of({{"x.npy", "hello"}})), "entry 'x.npy' of '", "is not a NumPy array");
}

TEST(Npz, ANameTwice) {
  expect_bad(read_zip(zip_of({{"x.npy", kArray}, {"x.npy", kArray}})), "entry 'x.npy' of '", "is there twice");
}

TEST(Npz, NameThatIsNotUtf8) {
  expect_bad(read_zip(zip_of({{"\xff.npy", kArray}})), "a.npz'", "name is not UTF-8 text: '\\xff.npy'");
}

TEST(Npz, NameWithNul) {
  std::string bytes = zip_of({{"xy.npy", kArray}});
  for (std::size_t at = bytes.find("xy.npy"); at != std::string::npos; at = bytes.find("xy.npy")) bytes[at + 1] = '\0';
  expect_bad(read_zip(bytes), "a.npz'", "name is not UTF-8 text: 'x\\x00.npy'");
}

TEST(Npz, Encrypted) {
  std::string bytes = zip_of({{"x.npy", kArray}});
  put16(bytes, bytes.find(kLocalHead) + 6, 1);
  put16(bytes, bytes.find(kDirectoryHead) + 8, 1);
  expect_bad(read_zip(bytes), "entry 'x.npy' of '", "is encrypted");
}

TEST(Npz, CompressedInAnotherWay) {
  std::string bytes = zip_of({{"x.npy", kArray}});
  put16(bytes, bytes.find(kLocalHead) + 8, 12);
  put16(bytes, bytes.find(kDirectoryHead) + 10, 12);
  expect_bad(read_zip(bytes), "entry 'x.npy' of '", "is compressed by method 12");
}

TEST(Npz, MuchBehindASmallShape) {
  const std::string bomb = npy_of_type("|u1", "(1,)", std::string(std::size_t{32} << 20U, '\0'));
  expect_bad(read_zip(zip_of({{"x.npy", bomb, true}})), "entry 'x.npy' of '", "has more bytes than its shape [1] says");
}

// Neither what the array nor what the archive says of itself is memory.
TEST(Npz, ClaimsOfTerabytes) {
  const std::string array = npy_of_type("|u1", "(1099511627776,)", "12345678");
  for (const bool deflated : {false, true}) {
    std::string bytes = zip_of({{"x.npy", array, deflated}});
    const std::string words = "ends after 8 of the 1099511627776 bytes";
    expect_bad(read_zip(bytes), "entry 'x.npy' of '", words);
    put32(bytes, bytes.find(kLocalHead) + 22, 0xFFFFFFF0);
    put32(bytes, bytes.find(kDirectoryHead) + 24, 0xFFFFFFF0);
    expect_bad(read_zip(bytes), "entry 'x.npy' of '", words);
  }
}

TEST(Npz, EntryOfFourGigabytes) {
  std::string bytes = zip_of({{"x.npy", kArray, true}});
  put32(bytes, bytes.find(kLocalHead) + 22, 0xFFFFFFFF);
  put32(bytes, bytes.find(kDirectoryHead) + 24, 0xFFFFFFFF);
  expect_bad(read_zip(bytes), "entry 'x.npy' of '", "is of 4 GiB or more");
}

TEST(Npz, ArchiveOfFourGigabytes) {
  const TemporaryFolder folder;
  const auto path = folder.write("a.npz", zip_of({{"x.npy", kArray}}));
  std::filesystem::resize_file(path, std::uint64_t{1} << 32U);  // a hole
  expect_bad(read_tensors(path, {}), "a.npz'", "is of 4 GiB or more");
}

TEST(Npz, EntryShorterThanTheArchiveSays) {
  std::string bytes = zip_of({{"x.npy", kArray, true}});
  put32(bytes, bytes.find(kLocalHead) + 22, kArray.size() + 1);
  put32(bytes, bytes.find(kDirectoryHead) + 24, kArray.size() + 1);
  expect_bad(read_zip(bytes), "entry 'x.npy' of '", "is shorter than its archive says");
}

// The directory's one record again under another name: both are the same bytes of the archive.
TEST(Npz, EntriesThatShareTheirBytes) {
  const std::string array = npy_of_type("|u1", "(4096,)", std::string(4096, '1'));
  std::string bytes = zip_of({{"x.npy", array}});
  const std::size_t directory = bytes.find(kDirectoryHead);
  const std::size_t record_size = bytes.size() - kEndSize - directory;
  std::string record = bytes.substr(directory, record_size);
  record[record.find("x.npy")] = 'y';
  bytes.insert(directory + record_size, record);
  const std::size_t end = bytes.size() - kEndSize;
  put16(bytes, end + 8, 2);
  put16(bytes, end + 10, 2);
  put32(bytes, end + 12, 2 * record_size);
  expect_bad(read_zip(bytes), "entry 'y.npy' of '", "overlaps another");
}

TEST(Npz, EndingInCapitalsIsAnArchiveToo) {
  const TemporaryFolder folder;
  ASSERT_TRUE(write_tensors(folder / "A.NPZ", {{"x", floats({1}, {1})}}, false));
  EXPECT_TRUE(std::filesystem::is_regular_file(folder / "A.NPZ"));
  EXPECT_EQ(read_tensors(folder / "A.NPZ", {})->at("x").tensor, floats({1}, {1}));
}

}  // namespace
}  // namespace precast::bench
