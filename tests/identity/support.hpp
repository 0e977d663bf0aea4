// What the tests of this layer share: a temporary folder, small ONNX and ELF files made by hand, a digester that
// counts.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "fs/file_system.hpp"
#include "identity/hashing_digester.hpp"
#include "identity/identity.hpp"

namespace precast::identity::test {

namespace stdfs = std::filesystem;

class TempFolder : public ::testing::Test {
 protected:
  TempFolder();
  ~TempFolder() override;
  // Makes missing folders on the way.
  stdfs::path write(const std::string& relative, std::string_view bytes) const;
  stdfs::path folder_;
};

// Hashes always; remembers facts; records what it was asked.
class RecordingDigester : public Digester {
 public:
  explicit RecordingDigester(fs::FileSystem& fs) : inner_(fs) {}
  Result<std::vector<FileEvidence>> digest(std::span<const stdfs::path> paths, std::string_view group) override;
  std::optional<std::string> facts(std::string_view name) override;
  void remember_facts(std::string_view name, std::string_view text) override { facts_[std::string(name)] = text; }

  std::function<void()> after_digest_;  // somebody else's act between two of ours
  std::vector<std::string> groups_;
  std::map<std::string, std::string> facts_;
  // Answers of an earlier call serve again when set: what the digest memo does for unchanged files.
  bool from_memory_ = false;

 private:
  HashingDigester inner_;
  std::map<stdfs::path, FileEvidence> known_;
};

struct ExternalEntry {
  std::string tensor;
  std::string location;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};
// A model of one Relu node and these external initialisers.
std::string onnx_bytes(const std::vector<ExternalEntry>& external = {}, std::string_view producer = "test");

struct ElfSpec {
  std::vector<std::string> needed = {};
  std::string rpath = {};
  std::string runpath = {};
  std::string soname = {};
  std::uint16_t machine = 62;  // x86-64
  std::string filler = {};     // makes two libraries differ
};
// Header, PT_LOAD over the whole file at address 0, PT_DYNAMIC, string table.
std::string elf_bytes(const ElfSpec& spec);
inline constexpr std::size_t kElfDynamicOffset = 64 + 2 * 56;

// Settings of an EP that the table does not know, with a GPU-class device whose driver is told: nothing in the
// identity comes from this machine but its OS and architecture.
Settings plain_settings(const stdfs::path& ort_library, const stdfs::path& plugin);

// An external file as a model's facts name it.
model::ExternalFile external_at(const std::string& location);

std::vector<std::string> names_of(const std::vector<FileEvidence>& evidence);

}  // namespace precast::identity::test
