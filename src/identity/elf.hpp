// What the dynamic linker reads of a shared library: which others it wants and where it looks for them. A small reader
// of ELF64 little-endian files through the seam; hostile files give errors, never crashes or large allocations.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "fs/file_system.hpp"
#include "precast/error.hpp"

namespace precast::identity {

struct ElfFacts {
  // e_machine; 0 = nothing that the dynamic linker of a 64-bit little-endian process would load (no ELF file, or a
  // DSP's 32-bit library as QNN brings them). Then nothing else is set.
  std::uint16_t machine = 0;
  std::vector<std::string> needed;  // DT_NEEDED, DT_FILTER, DT_AUXILIARY in order
  std::string soname;
  std::string rpath;  // as written: "$ORIGIN:$ORIGIN/../lib"
  std::string runpath;
  friend bool operator==(const ElfFacts&, const ElfFacts&) = default;
};

struct ElfRead {
  ElfFacts facts;
  fs::FileStat stat;  // of the file that was read: compare it with the evidence of the digest
};

// A file that begins as ELF64 does and breaks its own rules: corrupt, naming file and rule.
[[nodiscard]] Result<ElfRead> read_elf(fs::FileSystem& fs, const std::filesystem::path& path);

}  // namespace precast::identity
