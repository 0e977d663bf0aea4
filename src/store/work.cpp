#include <utility>

#include "store/store_state.hpp"
#include "store/work_state.hpp"
#include "util/sha256.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::store {
namespace {

void discard(Work::State& state) noexcept {
  // In a child made by fork the lease is not held: everything here belongs to the parent.
  if (!state.lease.held()) return;
  // Still under the shared lease: a sweep cannot be at it at the same time. What stays is for the next sweep.
  (void)fs::remove_tree(state.fs, state.layout.work(state.uuid));
  state.lease.release();
  auto held = try_lock_lease(state.fs, state.layout, state.uuid);
  if (held) remove_work(state.fs, state.layout, state.uuid, *std::move(held));
}

// A sweep looks at every lease file and may hold this one for a moment, between its making and its locking.
Result<Work> lease_new_work(fs::FileSystem& fs, const Layout& layout) {
  constexpr int kAttempts = 16;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const std::string uuid = util::new_uuid();
    PRECAST_TRY_ASSIGN(auto lease, fs::Lock::try_acquire(fs, layout.lease(uuid), fs::LockKind::shared));
    if (lease) return Work(std::make_unique<Work::State>(Work::State{fs, layout, uuid, *std::move(lease)}));
  }
  return fail(ErrorCode::busy, "every new lease in '" + shown(layout.leases()) + "' is held by somebody else",
              layout.leases(), "try again");
}

}  // namespace

Work::Work(std::unique_ptr<State> state) : state_(std::move(state)) {}
Work::Work(Work&&) noexcept = default;

Work& Work::operator=(Work&& other) noexcept {
  if (this != &other) {
    if (state_) discard(*state_);
    state_ = std::move(other.state_);
  }
  return *this;
}

Work::~Work() {
  if (state_) discard(*state_);
}

std::unique_ptr<Work::State> Work::release() && {
  return std::move(state_);
}

const std::string& Work::uuid() const {
  return state_->uuid;
}
std::filesystem::path Work::folder() const {
  return state_->layout.work(state_->uuid);
}
std::filesystem::path Work::output_folder() const {
  return folder() / "out";
}
std::filesystem::path Work::work_folder() const {
  return folder() / "work";
}

std::filesystem::path Work::source_folder() const {
  // If it cannot be made, whoever puts the first file into it learns why.
  (void)state_->fs.make_directory(folder() / "source", kFolderMode);
  return folder() / "source";
}

std::optional<fs::Lock> try_lock_lease(fs::FileSystem& fs, const Layout& layout, const std::string& uuid) {
  auto lock = fs::Lock::try_acquire(fs, layout.lease(uuid), fs::LockKind::exclusive);
  if (!lock) return std::nullopt;
  return *std::move(lock);
}

void remove_work(fs::FileSystem& fs, const Layout& layout, const std::string& uuid, fs::Lock held) {
  if (!fs::remove_tree(fs, layout.work(uuid))) return;
  // A crash after the rename of a commit leaves both; the lease is the generation's then.
  if (fs::exists(fs, layout.generation(uuid))) return;
  // Neither is missed by anybody: a memo of what is gone, and an empty file that a later sweep finds.
  (void)fs.unlink(layout.digest_group(util::sha256_hex(group_of(uuid))));
  (void)held.unlink_while_held();
}

void move_generation_away(fs::FileSystem& fs, const Layout& layout, const std::string& uuid) {
  const auto generation = layout.generation(uuid);
  const auto away = layout.work(uuid);
  // Either may fail: what counts is whether the rename then works.
  (void)fs::remove_tree(fs, away);
  (void)fs.make_directory(layout.tmp(), kFolderMode);
  if (!fs.rename_new(generation, away)) (void)fs::remove_tree(fs, generation);
}

void remove_generation(fs::FileSystem& fs, const Layout& layout, const std::string& uuid, fs::Lock held) {
  move_generation_away(fs, layout, uuid);
  remove_work(fs, layout, uuid, std::move(held));
}

Result<Work> Store::begin_work() {
  PRECAST_TRY(state_->require_writable());
  fs::FileSystem& fs = state_->fs;
  const Layout& layout = state_->layout;
  PRECAST_TRY_ASSIGN(Work work, lease_new_work(fs, layout));
  PRECAST_TRY(fs::make_directories(fs, layout.tmp(), kFolderMode, fs::Durability::none));
  PRECAST_TRY(fs.make_directory(work.folder(), kFolderMode));
  PRECAST_TRY(fs.make_directory(work.output_folder(), kFolderMode));
  PRECAST_TRY(fs.make_directory(work.work_folder(), kFolderMode));
  return work;
}

Result<Store::Private> Store::keep_private(Work work) {
  auto model = work.output_folder() / kModelName;
  return Private{std::move(work), std::move(model)};
}

}  // namespace precast::store
