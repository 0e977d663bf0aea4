#include "compile/machine_trouble.hpp"

#include <cerrno>
#include <string>
#include <system_error>

namespace precast::compile {

std::optional<ErrorCode> machine_trouble(std::string_view words) {
  const auto named = [&](std::string_view text) { return words.find(text) != std::string_view::npos; };
  for (const int number : {ENOSPC, EDQUOT}) {
    if (named(std::generic_category().message(number))) return ErrorCode::no_space;
  }
  for (const int number : {ENOMEM, EIO, EMFILE, ENFILE, EROFS, ESTALE}) {
    if (named(std::generic_category().message(number))) return ErrorCode::io;
  }
  if (named("std::bad_alloc") || named("bad allocation")) return ErrorCode::io;
  return std::nullopt;
}

}  // namespace precast::compile
