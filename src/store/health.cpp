#include "store/health.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "model/model_facts.hpp"
#include "store/store_state.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::store {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kLittle = std::uint64_t{1} << 30U;

class Examination {
 public:
  explicit Examination(Store::State& state) : state_(state), fs_(state.fs), layout_(state.layout) {}

  Result<Health> run() {
    PRECAST_TRY_ASSIGN(health_.volume, fs_.volume(layout_.root()));
    health_.trust = ctime_trust(health_.volume);
    PRECAST_TRY_ASSIGN(const auto markers, read_all_markers(fs_, layout_));
    health_.entries = markers.size();
    for (const Marker& marker : markers) {
      look_at_artifacts(marker);
      look_at_source(marker);
    }
    look_for_leftovers();
    PRECAST_TRY(count_failures());
    return std::move(health_);
  }

 private:
  // The clock is read after the stat: what was written in between is not from the future.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> age_of(const Result<fs::FileStat>& stat) const {
    if (!stat) return std::nullopt;
    return state_.clock().now().time_since_epoch() - std::chrono::nanoseconds(stat->ctime_ns);
  }

  void look_at(const std::filesystem::path& path, const Result<fs::FileStat>& stat) {
    const auto age = age_of(stat);
    if (!age || *age >= 0ns) return;
    auto& found = health_.from_the_future;
    if (std::ranges::find(found, path) == found.end()) found.push_back(path);
  }

  void look_at_artifacts(const Marker& marker) {
    const auto folder = layout_.generation(marker.generation);
    for (const Artifact& artifact : marker.artifacts)
      look_at(folder / artifact.path, fs_.lstat(folder / artifact.path));
  }

  // A source whose path is not text is not found here, and not looked at.
  void look_at_source(const Marker& marker) {
    const std::filesystem::path model(marker.model);
    const auto stat = fs_.stat(model);
    if (!stat || stat->kind != fs::FileKind::regular) return;
    look_at(model, stat);
    const auto identity = nlohmann::json::parse(marker.identity, nullptr, false);
    if (!identity.is_object()) return;
    const auto external = identity.value(nlohmann::json::json_pointer("/source/external"), nlohmann::json::array());
    for (const nlohmann::json& one : external) {
      if (!one.is_array() || one.empty() || !one.front().is_string()) continue;
      const auto path = model::resolve_location(model, one.front().get<std::string>());
      look_at(path, fs_.stat(path));
    }
  }

  void look_for_leftovers() {
    const auto entries = fs_.list(layout_.tmp());
    if (!entries) return;  // no tmp/ yet
    for (const fs::DirEntry& entry : *entries) {
      if (!util::is_uuid(entry.name)) continue;
      const auto age = age_of(fs_.lstat(layout_.work(entry.name)));
      if (age && *age >= kLeftoverAge && !is_held(entry.name)) health_.leftovers.push_back(layout_.work(entry.name));
    }
  }

  // What cannot be found out counts as held.
  [[nodiscard]] bool is_held(const std::string& uuid) const {
    const auto lease = fs::Lock::try_acquire(fs_, layout_.lease(uuid), fs::LockKind::exclusive, /*create=*/false);
    return lease ? !*lease : !fs::is_not_found(lease.error());
  }

  Result<void> count_failures() {
    PRECAST_TRY_ASSIGN(const auto keys, list_keys(fs_, layout_));
    for (const std::string& key : keys) {
      const auto record = read_failed_record(fs_, layout_, key);
      if (record && *record && (*record)->kind != "nothing_to_compile") ++health_.remembered_failures;
    }
    return {};
  }

  Store::State& state_;
  fs::FileSystem& fs_;
  const Layout& layout_;
  Health health_;
};

}  // namespace

bool nearly_full(const fs::FileSystem::Volume& volume) {
  return volume.bytes_free < kLittle && volume.bytes_free < volume.bytes_total / 10;
}

Result<Health> Store::examine() {
  PRECAST_TRY_ASSIGN(Health health, Examination(*state_).run());
  PRECAST_TRY_ASSIGN(health.findings, verify_structure());
  return health;
}

}  // namespace precast::store
