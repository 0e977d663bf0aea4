#include "compile/machine_trouble.hpp"

#include <cerrno>
#include <string>
#include <system_error>

#include "util/text.hpp"

namespace precast::compile {

std::optional<ErrorCode> machine_trouble(std::string_view words) {
  const auto named = [&](std::string_view text) { return words.find(text) != std::string_view::npos; };
  for (const int number : {ENOSPC, EDQUOT}) {
    if (named(std::generic_category().message(number))) return ErrorCode::no_space;
  }
  for (const int number : {ENOMEM, EIO, EMFILE, ENFILE, EROFS, ESTALE}) {
    if (named(std::generic_category().message(number))) return ErrorCode::io;
  }
  const std::string lower = util::ascii_lower(words);
  for (const std::string_view text : {"std::bad_alloc", "bad allocation", "out of memory", "failed to allocate"}) {
    if (lower.find(text) != std::string::npos) return ErrorCode::io;
  }
  if (named("cannot open shared object file")) return ErrorCode::ep_unavailable;  // the dynamic linker's words
  return std::nullopt;
}

}  // namespace precast::compile
