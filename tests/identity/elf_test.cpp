#include "identity/elf.hpp"

#include <cstring>

#include <elf.h>
#include <gmock/gmock.h>

#include "identity/elf_memory.hpp"
#include "support.hpp"

namespace precast::identity::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Elf : public TempFolder {
 protected:
  Result<ElfRead> read(std::string_view bytes) { return read_elf(fs::FileSystem::posix(), write("lib.so", bytes)); }
  // Overwrites a field of a valid library.
  template <typename T>
  static std::string damaged(std::size_t offset, T value) {
    std::string bytes = elf_bytes({.needed = {"libx.so"}, .runpath = "$ORIGIN"});
    std::memcpy(bytes.data() + offset, &value, sizeof(value));
    return bytes;
  }
};

constexpr std::size_t kLoad = 64;
constexpr std::size_t kDynamic = 64 + 56;

TEST_F(Elf, ReadsWhatTheLinkerReads) {
  const auto elf =
      read(elf_bytes({.needed = {"liba.so.1", "libb.so"}, .rpath = "/r", .runpath = "/p", .soname = "me"}));
  ASSERT_TRUE(elf) << elf.error().message;
  EXPECT_EQ(elf->facts.machine, EM_X86_64);
  EXPECT_THAT(elf->facts.needed, ElementsAre("liba.so.1", "libb.so"));
  EXPECT_EQ(elf->facts.rpath, "/r");
  EXPECT_EQ(elf->facts.runpath, "/p");
  EXPECT_EQ(elf->facts.soname, "me");
}

TEST_F(Elf, WhatIsNoLibraryNeedsNothing) {
  std::string foreign = elf_bytes({.needed = {"libx.so"}});
  foreign[EI_CLASS] = ELFCLASS32;  // a DSP's library, as QNN's packages bring them
  for (const std::string& bytes : {std::string{}, std::string("{}"), std::string("\x7f"), foreign}) {
    const auto elf = read(bytes);
    ASSERT_TRUE(elf) << elf.error().message;
    EXPECT_EQ(elf->facts, ElfFacts{});
  }
}

TEST_F(Elf, HostileFilesAreErrorsThatNameTheFile) {
  const std::string good = elf_bytes({.needed = {"libx.so"}});
  const std::uint64_t huge = ~std::uint64_t{0} - 16;
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"cut header", good.substr(0, 40)},
      {"cut program headers", good.substr(0, 100)},
      {"cut dynamic section", good.substr(0, kElfDynamicOffset + 20)},
      {"program headers out of the file", damaged(offsetof(Elf64_Ehdr, e_phoff), huge)},
      {"program headers far away", damaged(offsetof(Elf64_Ehdr, e_phoff), std::uint64_t{1} << 40U)},
      {"odd program header size", damaged(offsetof(Elf64_Ehdr, e_phentsize), std::uint16_t{1})},
      {"65535 program headers", damaged(offsetof(Elf64_Ehdr, e_phnum), std::uint16_t{0xFFFF})},
      {"no machine", damaged(offsetof(Elf64_Ehdr, e_machine), std::uint16_t{0})},
      {"huge dynamic section", damaged(kDynamic + offsetof(Elf64_Phdr, p_filesz), huge)},
      {"dynamic section outside", damaged(kDynamic + offsetof(Elf64_Phdr, p_vaddr), huge)},
      {"segment without bytes", damaged(kLoad + offsetof(Elf64_Phdr, p_filesz), std::uint64_t{0})},
      {"segment whose offset overflows", damaged(kLoad + offsetof(Elf64_Phdr, p_offset), huge)},
      {"name outside the table", damaged(kElfDynamicOffset + 8, huge)},
      {"string table outside", damaged(kElfDynamicOffset + 2UL * 16 + 8, huge)},
      {"no string table", damaged(kElfDynamicOffset + 2UL * 16, std::int64_t{DT_HASH})},
      {"name without end", damaged(kElfDynamicOffset + 3UL * 16 + 8, std::uint64_t{4})},
      {"name that is not UTF-8", elf_bytes({.needed = {"lib\xff.so"}})},
      {"too many names", elf_bytes({.needed = std::vector<std::string>(2000, "l")})},
  };
  for (const auto& [what, bytes] : cases) {
    const auto elf = read(bytes);
    ASSERT_FALSE(elf) << what;
    EXPECT_EQ(elf.error().code, ErrorCode::corrupt) << what;
    EXPECT_THAT(elf.error().message, HasSubstr((folder_ / "lib.so").string())) << what;
  }
}

TEST_F(Elf, EveryTruncationEndsWell) {
  const std::string good = elf_bytes({.needed = {"liba.so"}, .runpath = "$ORIGIN", .soname = "s"});
  for (std::size_t length = 64; length < good.size(); ++length) {
    EXPECT_FALSE(read(std::string_view(good).substr(0, length))) << length;
  }
}

TEST_F(Elf, ASegmentBeyondTheEndIsAnError) {
  const std::string good = elf_bytes({.needed = {"libx.so"}});
  const auto size = static_cast<std::uint64_t>(good.size());
  const auto elf = read(damaged(kLoad + offsetof(Elf64_Phdr, p_filesz), size + 1000));
  ASSERT_FALSE(elf);
  EXPECT_THAT(elf.error().message, HasSubstr("it is cut off"));
}

TEST_F(Elf, FolderIsAnError) {
  EXPECT_FALSE(read_elf(fs::FileSystem::posix(), folder_));
}

TEST(ElfMemoryText, ComesBackAsItWas) {
  const ElfMemory memory = {
      {"d1", {"liba.so", {.machine = 62, .needed = {"x"}, .soname = "s", .rpath = "r", .runpath = "p"}}}};
  const ElfMemory back = parse_elf_memory(serialize_elf_memory(memory));
  ASSERT_EQ(back.size(), 1U);
  EXPECT_EQ(back.at("d1").facts, memory.at("d1").facts);
  EXPECT_EQ(back.at("d1").file_name, "liba.so");
}

TEST(ElfMemoryText, DamagedTextIsForgotten) {
  for (const char* text :
       {"", "{", "[]", "{\"version\":2,\"libraries\":{}}", "{\"version\":1,\"libraries\":{\"d\":3}}"}) {
    EXPECT_TRUE(parse_elf_memory(text).empty()) << text;
  }
}

}  // namespace
}  // namespace precast::identity::test
