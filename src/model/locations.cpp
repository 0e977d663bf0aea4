// Where external data may lie.
#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "model/model_facts.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::model {
namespace {

// ORT's mark for tensors that live in the memory of the process that made them (tensorprotoutils.h).
constexpr std::string_view kMemoryMark = "*/_ORT_MEM_ADDR_/*";

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// True if some prefix of the path lies above the folder it starts in. A backslash separates too: the model may have
// been written on Windows, and no honest file name holds "..\".
bool leaves_folder(std::string_view location) {
  std::string slashes(location);
  std::ranges::replace(slashes, '\\', '/');
  int depth = 0;
  for (const std::string& part : util::split(slashes, '/')) {
    if (part == "..") {
      if (--depth < 0) return true;
    } else if (!part.empty() && part != ".") {
      ++depth;
    }
  }
  return false;
}

// What is wrong with a location; empty if nothing is.
std::string_view objection(std::string_view location) {
  if (location.empty()) return "is empty";
  if (location.find('\0') != std::string_view::npos) return "contains a NUL character";
  if (!util::is_utf8(location)) return "is not UTF-8";
  if (location == kMemoryMark) return "is an address in the memory of the process that wrote the model";
  if (location.front() == '/' || location.front() == '\\') return "is an absolute path";
  if (location.size() >= 2 && is_letter(location[0]) && location[1] == ':') return "has a drive prefix";
  if (leaves_folder(location)) return "leads out of the model's folder";
  return {};
}

}  // namespace

Result<void> check_external_locations(const ModelFacts& facts, const std::filesystem::path& model) {
  for (const ExternalFile& file : facts.external_files) {
    const std::string_view why = objection(file.location);
    if (why.empty()) continue;
    return fail(
        ErrorCode::bad_input,
        fmt::format("external data location '{}' of tensor '{}' in '{}' {}", util::escape_invalid_utf8(file.location),
                    util::escape_invalid_utf8(file.first_tensor), util::escape_to_line(model.native()), why),
        model, "save the model again with its external data beside it, under a relative path");
  }
  return {};
}

std::filesystem::path resolve_location(const std::filesystem::path& model, const std::string& location) {
  return model.parent_path() / location;
}

}  // namespace precast::model
