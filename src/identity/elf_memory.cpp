#include "identity/elf_memory.hpp"

#include <nlohmann/json.hpp>

namespace precast::identity {
namespace {

constexpr int kVersion = 1;

nlohmann::json to_json(const RememberedElf& elf) {
  return {{"name", elf.file_name},      {"machine", elf.facts.machine}, {"needed", elf.facts.needed},
          {"soname", elf.facts.soname}, {"rpath", elf.facts.rpath},     {"runpath", elf.facts.runpath}};
}

RememberedElf from_json(const nlohmann::json& json) {
  RememberedElf elf;
  elf.file_name = json.at("name").get<std::string>();
  elf.facts.machine = json.at("machine").get<std::uint16_t>();
  elf.facts.needed = json.at("needed").get<std::vector<std::string>>();
  elf.facts.soname = json.at("soname").get<std::string>();
  elf.facts.rpath = json.at("rpath").get<std::string>();
  elf.facts.runpath = json.at("runpath").get<std::string>();
  return elf;
}

}  // namespace

std::string serialize_elf_memory(const ElfMemory& memory) {
  nlohmann::json libraries = nlohmann::json::object();
  for (const auto& [digest, elf] : memory) libraries[digest] = to_json(elf);
  return nlohmann::json{{"version", kVersion}, {"libraries", libraries}}.dump(-1, ' ', false,
                                                                              nlohmann::json::error_handler_t::replace);
}

ElfMemory parse_elf_memory(std::string_view text) {
  try {
    const auto json = nlohmann::json::parse(text);
    ElfMemory memory;
    if (json.at("version") != kVersion) return memory;
    for (const auto& [digest, elf] : json.at("libraries").items()) memory.emplace(digest, from_json(elf));
    return memory;
  } catch (const nlohmann::json::exception&) {
    return {};  // damaged or of another version: costs time only
  }
}

}  // namespace precast::identity
