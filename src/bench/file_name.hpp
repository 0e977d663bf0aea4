// Names of tensors as names of files, and back: '/', NUL and '%' become %2F, %00 and %25.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace precast::bench {

[[nodiscard]] std::string to_file_name(std::string_view name);
// nullopt: a '%' without two hexadecimal digits, or a result that is not UTF-8.
[[nodiscard]] std::optional<std::string> from_file_name(std::string_view file_name);

}  // namespace precast::bench
