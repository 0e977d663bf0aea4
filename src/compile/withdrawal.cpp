#include "compile/withdrawal.hpp"

#include "util/try.hpp"

namespace precast::compile {

Result<void> withdraw(store::Store& store, const Resolution& stored, const fs::Lock::WaitOptions& wait,
                      const std::optional<store::FailedRecord>& record) {
  PRECAST_TRY_ASSIGN(const auto lock, store.lock_key(stored.key, wait));
  PRECAST_TRY(store.remove_marker(stored.key, stored.generation));
  if (!record) return {};
  const auto current = store.look_up(stored.key);
  if (current && current->hit) return {};  // somebody made it anew already
  return store.write_failed(*record);
}

}  // namespace precast::compile
