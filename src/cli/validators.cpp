#include "cli/validators.hpp"

#include <CLI/CLI.hpp>

namespace precast::cli {

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
