#include "store/layout.hpp"

#include <cstdlib>
#include <system_error>

namespace precast::store {
namespace {

std::filesystem::path made_absolute(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::path whole = std::filesystem::absolute(path, error);
  // No working directory any more: Store::open refuses the relative path by name.
  return error ? path : whole;
}

std::filesystem::path from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

std::filesystem::path default_root(const std::filesystem::path& given) {
  if (!given.empty()) return made_absolute(given);
  if (const auto chosen = from_environment("PRECAST_CACHE_DIR"); !chosen.empty()) return made_absolute(chosen);
  // The XDG base directory specification has relative values ignored.
  if (const auto cache = from_environment("XDG_CACHE_HOME"); cache.is_absolute()) return cache / "precast";
  if (const auto home = from_environment("HOME"); home.is_absolute()) return home / ".cache" / "precast";
  return {};
}

}  // namespace precast::store
