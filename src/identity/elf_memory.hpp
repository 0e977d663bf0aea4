// The text in which ELF facts of the libraries of one EP are remembered, by digest and by file name.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "identity/elf.hpp"

namespace precast::identity {

struct RememberedElf {
  std::string file_name;  // a guess for a file whose digest is not known yet
  ElfFacts facts;
};
using ElfMemory = std::map<std::string, RememberedElf, std::less<>>;  // by SHA-256

[[nodiscard]] std::string serialize_elf_memory(const ElfMemory& memory);
// Anything but this version's text: empty (it is read again from the libraries).
[[nodiscard]] ElfMemory parse_elf_memory(std::string_view text);

}  // namespace precast::identity
