#include "support.hpp"

#include <cstring>
#include <fstream>

#include <elf.h>
#include <unistd.h>

namespace precast::identity::test {
namespace {

void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7U) out += static_cast<char>((value & 0x7FU) | 0x80U);
  out += static_cast<char>(value);
}

void put_number(std::string& out, unsigned field, std::uint64_t value) {
  put_varint(out, field << 3U);
  put_varint(out, value);
}

void put_text(std::string& out, unsigned field, std::string_view text) {
  put_varint(out, (field << 3U) | 2U);
  put_varint(out, text.size());
  out += text;
}

std::string entry(std::string_view key, std::string_view value) {
  std::string out;
  put_text(out, 1, key);
  put_text(out, 2, value);
  return out;
}

std::string external_tensor(const ExternalEntry& external) {
  std::string tensor;
  put_number(tensor, 1, 1);  // dims
  put_number(tensor, 2, 1);  // float
  put_text(tensor, 8, external.tensor);
  put_text(tensor, 13, entry("location", external.location));
  if (external.offset != 0) put_text(tensor, 13, entry("offset", std::to_string(external.offset)));
  if (external.length != 0) put_text(tensor, 13, entry("length", std::to_string(external.length)));
  put_number(tensor, 14, 1);  // EXTERNAL
  return tensor;
}

template <typename T>
void put_raw(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

}  // namespace

TempFolder::TempFolder() {
  std::string pattern = (stdfs::temp_directory_path() / "precast-identity-XXXXXX").string();
  folder_ = ::mkdtemp(pattern.data());
  folder_ = stdfs::canonical(folder_);
}

TempFolder::~TempFolder() {
  std::error_code ignored;  // left-overs in the temporary folder harm nobody
  stdfs::remove_all(folder_, ignored);
}

stdfs::path TempFolder::write(const std::string& relative, std::string_view bytes) const {
  const stdfs::path path = folder_ / relative;
  stdfs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  return path;
}

Result<std::vector<FileEvidence>> RecordingDigester::digest(std::span<const stdfs::path> paths,
                                                            std::string_view group) {
  groups_.emplace_back(group);
  std::vector<FileEvidence> result;
  for (const auto& path : paths) {
    const auto known = known_.find(path);
    if (from_memory_ && known != known_.end()) {
      result.push_back(known->second);
      continue;
    }
    auto evidence = inner_.digest(std::span(&path, 1), group);
    if (!evidence) return evidence;
    known_.insert_or_assign(path, evidence->front());
    result.push_back(evidence->front());
  }
  if (after_digest_) after_digest_();
  return result;
}

std::optional<std::string> RecordingDigester::facts(std::string_view name) {
  const auto found = facts_.find(std::string(name));
  return found == facts_.end() ? std::nullopt : std::optional(found->second);
}

std::string onnx_bytes(const std::vector<ExternalEntry>& external, std::string_view producer) {
  std::string node;
  put_text(node, 1, "x");
  put_text(node, 2, "y");
  put_text(node, 4, "Relu");
  std::string graph;
  put_text(graph, 1, node);
  put_text(graph, 2, "g");
  for (const ExternalEntry& one : external) put_text(graph, 5, external_tensor(one));
  std::string opset;
  put_number(opset, 2, 17);
  std::string model;
  put_number(model, 1, 8);
  put_text(model, 2, producer);
  put_text(model, 7, graph);
  put_text(model, 8, opset);
  return model;
}

std::string elf_bytes(const ElfSpec& spec) {
  std::string strings(1, '\0');
  std::vector<Elf64_Dyn> dynamic;
  const auto add = [&](std::int64_t tag, const std::string& text) {
    dynamic.push_back({.d_tag = tag, .d_un = {.d_val = strings.size()}});
    strings += text + '\0';
  };
  for (const std::string& name : spec.needed) add(DT_NEEDED, name);
  if (!spec.rpath.empty()) add(DT_RPATH, spec.rpath);
  if (!spec.runpath.empty()) add(DT_RUNPATH, spec.runpath);
  if (!spec.soname.empty()) add(DT_SONAME, spec.soname);
  const std::uint64_t dynamic_bytes = (dynamic.size() + 3) * sizeof(Elf64_Dyn);
  dynamic.push_back({.d_tag = DT_STRTAB, .d_un = {.d_ptr = kElfDynamicOffset + dynamic_bytes}});
  dynamic.push_back({.d_tag = DT_STRSZ, .d_un = {.d_val = strings.size()}});
  dynamic.push_back({.d_tag = DT_NULL, .d_un = {.d_val = 0}});

  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_type = ET_DYN;
  header.e_machine = spec.machine;
  header.e_phoff = sizeof(Elf64_Ehdr);
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 2;
  const std::uint64_t whole = kElfDynamicOffset + dynamic_bytes + strings.size();
  Elf64_Phdr load{};
  load.p_type = PT_LOAD;
  load.p_filesz = whole;
  Elf64_Phdr dynamic_segment{};
  dynamic_segment.p_type = PT_DYNAMIC;
  dynamic_segment.p_offset = kElfDynamicOffset;
  dynamic_segment.p_vaddr = kElfDynamicOffset;
  dynamic_segment.p_filesz = dynamic_bytes;
  std::string out;
  put_raw(out, header);
  put_raw(out, load);
  put_raw(out, dynamic_segment);
  for (const Elf64_Dyn& one : dynamic) put_raw(out, one);
  return out + strings + spec.filler;
}

Settings plain_settings(const stdfs::path& ort_library, const stdfs::path& plugin) {
  Settings settings;
  settings.target.ep.found = {.name = "ToyExecutionProvider", .source = "explicit", .library = plugin};
  settings.target.ep.version = "1.2.3";
  settings.target.ep.vendor = "Toys";
  ort::DeviceInfo& device = settings.target.device;
  device.ep_name = "ToyExecutionProvider";
  device.device_class = ort::DeviceClass::gpu;
  device.vendor_id = 0x1234;
  device.device_id = 7;
  device.name = "Toy 9000";
  device.ep_metadata = {{"os_driver_version", "31.0"}, {"library_path", plugin.string()}, {"arch", "t9"}};
  settings.ort_library = ort_library;
  settings.ort_version = "1.32.0";
  settings.ort_build = "ORT Build Info: git-branch=main";
  return settings;
}

model::ExternalFile external_at(const std::string& location) {
  model::ExternalFile file;
  file.location = location;
  return file;
}

std::vector<std::string> names_of(const std::vector<FileEvidence>& evidence) {
  std::vector<std::string> names;
  names.reserve(evidence.size());
  for (const FileEvidence& one : evidence) names.push_back(one.path.filename().string());
  return names;
}

}  // namespace precast::identity::test
