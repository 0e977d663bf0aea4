#include "identity/elf.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <span>

#include <elf.h>

#include "identity/links.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::identity {
namespace {

constexpr std::size_t kMaxProgramHeaders = 4096;
constexpr std::uint64_t kMaxDynamicBytes = std::uint64_t{1} << 20U;
constexpr std::size_t kMaxName = 4096;  // PATH_MAX; an RPATH may be longer in theory, in practice none is
constexpr std::size_t kMaxNeeded = 1024;

std::unexpected<Error> broken(const fs::File& file, std::string_view rule) {
  return fail(ErrorCode::corrupt, util::quoted(file.path()) + " is no valid shared library: " + std::string(rule),
              file.path(), "Install the library again.");
}

// Up to into.size() bytes; fewer only at the end of the file.
Result<std::size_t> read_up_to(fs::FileSystem& fs, fs::File& file, std::span<std::byte> into, std::uint64_t offset) {
  std::size_t done = 0;
  while (done < into.size()) {
    PRECAST_TRY_ASSIGN(const std::size_t count, fs.read_at(file, into.subspan(done), offset + done));
    if (count == 0) break;
    done += count;
  }
  return done;
}

template <typename T>
Result<void> read_table(fs::FileSystem& fs, fs::File& file, std::span<T> into, std::uint64_t offset) {
  const std::span<std::byte> bytes = std::as_writable_bytes(into);
  if (offset > INT64_MAX - bytes.size()) return broken(file, "a table lies beyond the end of the file");
  PRECAST_TRY_ASSIGN(const std::size_t count, read_up_to(fs, file, bytes, offset));
  if (count != bytes.size()) return broken(file, "a table lies beyond the end of the file");
  return {};
}

// The file offset of a virtual address, and how many bytes of the file follow it in its segment.
struct Place {
  std::uint64_t offset = 0;
  std::uint64_t available = 0;
};

std::optional<Place> place_of(std::span<const Elf64_Phdr> segments, std::uint64_t address) {
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type != PT_LOAD || address < segment.p_vaddr) continue;
    const std::uint64_t inside = address - segment.p_vaddr;
    if (inside >= segment.p_filesz || segment.p_offset > INT64_MAX - inside) continue;
    return Place{segment.p_offset + inside, segment.p_filesz - inside};
  }
  return std::nullopt;
}

struct Dynamic {
  std::vector<std::uint64_t> needed;  // offsets into the string table
  std::optional<std::uint64_t> soname;
  std::optional<std::uint64_t> rpath;
  std::optional<std::uint64_t> runpath;
  std::optional<std::uint64_t> strings;  // virtual address
  std::uint64_t string_bytes = 0;
};

Dynamic sort_entries(std::span<const Elf64_Dyn> entries) {
  Dynamic dynamic;
  for (const Elf64_Dyn& entry : entries) {
    switch (entry.d_tag) {
      case DT_NULL:
        return dynamic;
      case DT_NEEDED:
      case DT_FILTER:
      case DT_AUXILIARY:
        dynamic.needed.push_back(entry.d_un.d_val);
        break;
      case DT_SONAME:
        dynamic.soname = entry.d_un.d_val;
        break;
      case DT_RPATH:
        dynamic.rpath = entry.d_un.d_val;
        break;
      case DT_RUNPATH:
        dynamic.runpath = entry.d_un.d_val;
        break;
      case DT_STRTAB:
        dynamic.strings = entry.d_un.d_ptr;
        break;
      case DT_STRSZ:
        dynamic.string_bytes = entry.d_un.d_val;
        break;
      default:
        break;
    }
  }
  return dynamic;
}

// Names are read one by one: a string table of a C++ library has megabytes of symbols.
Result<std::string> read_name(fs::FileSystem& fs, fs::File& file, const Place& strings, std::uint64_t index) {
  if (index >= strings.available) return broken(file, "a name lies outside the string table");
  std::string name(static_cast<std::size_t>(std::min<std::uint64_t>(kMaxName, strings.available - index)), '\0');
  PRECAST_TRY_ASSIGN(const std::size_t count,
                     read_up_to(fs, file, std::as_writable_bytes(std::span(name)), strings.offset + index));
  name.resize(count);
  const std::size_t end = name.find('\0');
  if (end == std::string::npos) return broken(file, "a name has no end");
  name.resize(end);
  if (!util::is_utf8(name)) return broken(file, "a name is not UTF-8");
  return name;
}

Result<ElfFacts> read_names(fs::FileSystem& fs, fs::File& file, std::span<const Elf64_Phdr> segments,
                            const Dynamic& dynamic) {
  ElfFacts facts;
  if (dynamic.needed.size() > kMaxNeeded) return broken(file, "it needs too many libraries");
  if (dynamic.needed.empty() && !dynamic.soname && !dynamic.rpath && !dynamic.runpath) return facts;
  if (!dynamic.strings) return broken(file, "it has no string table");
  auto strings = place_of(segments, *dynamic.strings);
  if (!strings) return broken(file, "its string table is not in the file");
  strings->available = std::min(strings->available, dynamic.string_bytes);
  for (const std::uint64_t index : dynamic.needed) {
    PRECAST_TRY_ASSIGN(std::string name, read_name(fs, file, *strings, index));
    if (!name.empty()) facts.needed.push_back(std::move(name));
  }
  const auto optional_name = [&](std::optional<std::uint64_t> index) -> Result<std::string> {
    return index ? read_name(fs, file, *strings, *index) : std::string{};
  };
  PRECAST_TRY_ASSIGN(facts.soname, optional_name(dynamic.soname));
  PRECAST_TRY_ASSIGN(facts.rpath, optional_name(dynamic.rpath));
  PRECAST_TRY_ASSIGN(facts.runpath, optional_name(dynamic.runpath));
  return facts;
}

// The loader maps them: a file that was cut off would end the process that loads it.
Result<void> check_ends(const fs::File& file, std::span<const Elf64_Phdr> segments, std::uint64_t size) {
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type != PT_LOAD || (segment.p_offset <= size && segment.p_filesz <= size - segment.p_offset))
      continue;
    return broken(file, "it is cut off, a segment lies beyond its end");
  }
  return {};
}

Result<ElfFacts> read_dynamic(fs::FileSystem& fs, fs::File& file, const Elf64_Ehdr& header, std::uint64_t size) {
  if (header.e_phentsize != sizeof(Elf64_Phdr)) return broken(file, "its program headers have an unknown size");
  if (header.e_phnum > kMaxProgramHeaders) return broken(file, "it has too many program headers");
  std::vector<Elf64_Phdr> segments(header.e_phnum);
  PRECAST_TRY(read_table(fs, file, std::span(segments), header.e_phoff));
  PRECAST_TRY(check_ends(file, segments, size));
  const auto found = std::find_if(segments.begin(), segments.end(),
                                  [](const Elf64_Phdr& segment) { return segment.p_type == PT_DYNAMIC; });
  if (found == segments.end()) return ElfFacts{};
  if (found->p_filesz > kMaxDynamicBytes) return broken(file, "its dynamic section is too large");
  // The linker goes by the address; a file whose p_offset says something else would deceive a reader that trusts it.
  const auto place = place_of(segments, found->p_vaddr);
  if (!place || place->available < found->p_filesz) return broken(file, "its dynamic section is not in the file");
  std::vector<Elf64_Dyn> entries(static_cast<std::size_t>(found->p_filesz / sizeof(Elf64_Dyn)));
  PRECAST_TRY(read_table(fs, file, std::span(entries), place->offset));
  return read_names(fs, file, segments, sort_entries(entries));
}

bool is_ours(const Elf64_Ehdr& header) {
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 &&
         header.e_ident[EI_DATA] == ELFDATA2LSB;
}

}  // namespace

Result<ElfRead> read_elf(fs::FileSystem& fs, const std::filesystem::path& path) {
  ElfRead result;
  PRECAST_TRY_ASSIGN(fs::File file, fs.open(path, fs::OpenMode::read));
  PRECAST_TRY_ASSIGN(result.stat, fs.stat(file));
  result.stat = evidence_stat(result.stat);
  if (result.stat.kind != fs::FileKind::regular) {
    return fail(ErrorCode::bad_input, util::quoted(path) + " is not a regular file", path);
  }
  std::array<Elf64_Ehdr, 1> header{};
  PRECAST_TRY_ASSIGN(const std::size_t count, read_up_to(fs, file, std::as_writable_bytes(std::span(header)), 0));
  if (count < SELFMAG || !is_ours(header[0])) return result;
  if (count != sizeof(Elf64_Ehdr)) return broken(file, "its header is cut off");
  if (header[0].e_machine == EM_NONE) return broken(file, "it names no machine");
  PRECAST_TRY_ASSIGN(result.facts, read_dynamic(fs, file, header[0], result.stat.size));
  result.facts.machine = header[0].e_machine;
  PRECAST_TRY_ASSIGN(const fs::FileStat after, fs.stat(file));
  if (evidence_stat(after) != result.stat) {
    return fail(ErrorCode::busy, util::quoted(path) + " changes while it is read", path,
                "wait until nobody writes it any more");
  }
  return result;
}

}  // namespace precast::identity
