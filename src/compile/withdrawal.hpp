// Taking a stored generation out of use: nobody is served it any more, and its files go when its last lease ends.
#pragma once

#include <optional>

#include "compile/resolution.hpp"
#include "store/store.hpp"

namespace precast::compile {

// Under the key's lock, and only while the marker names that generation. `record` is remembered unless somebody has
// made the entry anew already. An error: it may still be there.
[[nodiscard]] Result<void> withdraw(store::Store& store, const Resolution& stored, const fs::Lock::WaitOptions& wait,
                                    const std::optional<store::FailedRecord>& record);

}  // namespace precast::compile
