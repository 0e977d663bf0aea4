// The identity's part that comes from provider options and session settings, as plain text.
#pragma once

#include <map>
#include <string>

#include "identity/identity.hpp"

namespace precast::identity {

struct OptionFields {
  std::map<std::string, std::string> provider_options;
  std::map<std::string, std::string> option_files;  // option -> SHA-256 of what it names
};
[[nodiscard]] Result<OptionFields> option_fields(fs::FileSystem& fs, Digester& digester, const Settings& settings);

// bad_input naming the key when a setting would leave a part of the result outside of it: weightless contexts,
// initialisers kept in other files, custom-op libraries that no --ep-extra-file brings into the identity.
[[nodiscard]] Result<void> check_self_contained(fs::FileSystem& fs, const Settings& settings);

}  // namespace precast::identity
