#include "cli/validators.hpp"

#include <charconv>
#include <cstdint>

#include <CLI/CLI.hpp>

namespace precast::cli {

std::string whole_number(const std::string& value) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  return error == std::errc() && end == value.data() + value.size() ? "" : "it is no whole number from 0 to 2^64 - 1";
}

void refuse_empty_values(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    const bool takes_value = option->get_items_expected_max() > 0;
    if (!takes_value || option->get_positional() || option->check_lname("system")) continue;
    // Before the option's own checks, whose words would be about what an empty text is not.
    option->transform(CLI::Validator([](std::string& value) { return not_empty(value); }, ""));
  }
  for (CLI::App* command : app.get_subcommands({})) refuse_empty_values(*command);
}

}  // namespace precast::cli
