#include <cstring>
#include <fstream>
#include <system_error>
#include <vector>

#include <elf.h>

#include "ort/library_check.hpp"
#include "util/text.hpp"

namespace precast::ort {

namespace {

namespace stdfs = std::filesystem;

// The last byte of the file that the loader maps, as the program headers say; 0 = no such file, or no such headers.
std::uint64_t promised_size(const stdfs::path& library, std::uint64_t size) {
  std::ifstream file(library, std::ios::binary);
  Elf64_Ehdr header{};
  if (!file.read(reinterpret_cast<char*>(&header), sizeof header)) return 0;
  const bool known = std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 &&
                     header.e_phentsize == sizeof(Elf64_Phdr);
  if (!known) return 0;
  const std::uint64_t table = header.e_phoff + header.e_phnum * sizeof(Elf64_Phdr);
  if (header.e_phoff > size || table > size) return table;
  std::vector<Elf64_Phdr> segments(header.e_phnum);
  file.seekg(static_cast<std::streamoff>(header.e_phoff));
  if (!file.read(reinterpret_cast<char*>(segments.data()),
                 static_cast<std::streamsize>(segments.size() * sizeof(Elf64_Phdr)))) {
    return 0;
  }
  std::uint64_t end = 0;
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type != PT_LOAD) continue;
    if (segment.p_offset > UINT64_MAX - segment.p_filesz) return UINT64_MAX;
    end = std::max(end, segment.p_offset + segment.p_filesz);
  }
  return end;
}

}  // namespace

Result<void> check_library_file(const stdfs::path& library) {
  constexpr const char* kHint = "install it again";
  std::error_code error;
  if (!stdfs::is_regular_file(library, error)) {
    return fail(ErrorCode::ep_unavailable, util::quoted(library) + " is not a file", library, kHint);
  }
  const std::uint64_t size = stdfs::file_size(library, error);
  if (error || promised_size(library, size) <= size) return {};
  return fail(ErrorCode::ep_unavailable,
              "the library " + util::quoted(library) + " is cut off: it has " + std::to_string(size) +
                  " bytes, and its header promises more",
              library, kHint);
}

}  // namespace precast::ort
