#include <algorithm>
#include <exception>
#include <span>
#include <utility>

#include "store/store_state.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::store {
namespace {

constexpr std::uint64_t kTail = std::uint64_t{4} << 20U;  // enough for some ten thousand events

Result<std::string> read_tail(fs::FileSystem& fs, const std::filesystem::path& path) {
  PRECAST_TRY_ASSIGN(fs::File file, fs.open(path, fs::OpenMode::read));
  PRECAST_TRY_ASSIGN(const fs::FileStat stat, fs.stat(file));
  const std::uint64_t start = stat.size > kTail ? stat.size - kTail : 0;
  std::string bytes(static_cast<std::size_t>(stat.size - start), '\0');
  std::size_t filled = 0;
  while (filled < bytes.size()) {
    const auto rest = std::as_writable_bytes(std::span(bytes).subspan(filled));
    PRECAST_TRY_ASSIGN(const std::size_t got, fs.read_at(file, rest, start + filled));
    if (got == 0) break;  // shortened meanwhile
    filled += got;
  }
  bytes.resize(filled);
  if (start > 0) bytes.erase(0, bytes.find('\n') + 1);  // half a line
  return bytes;
}

bool is_use(const Event& event) {
  return event.kind == "hit" || event.kind == "use";
}

}  // namespace

std::vector<Event> read_events(fs::FileSystem& fs, const Layout& layout) {
  std::vector<Event> events;
  const auto text = read_tail(fs, layout.stats());
  if (!text) return events;  // no statistics: nothing is known, which is always allowed
  for (const std::string& line : util::split(*text, '\n')) {
    if (auto event = parse_event(line)) events.push_back(*std::move(event));
  }
  return events;
}

std::map<std::string, std::string> last_uses(fs::FileSystem& fs, const Layout& layout) {
  std::map<std::string, std::string> uses;
  for (const Event& event : read_events(fs, layout)) {
    if (!is_use(event)) continue;
    // RFC 3339 in UTC sorts as text.
    std::string& last = uses[event.generation];
    last = std::max(last, event.time);
  }
  return uses;
}

std::string last_used(const Marker& marker, const std::map<std::string, std::string>& uses) {
  const auto use = uses.find(marker.generation);
  return use == uses.end() ? marker.created : std::max(marker.created, use->second);
}

void Store::record(const Event& event) noexcept {
  if (!writable()) return;
  try {
    // One write to a file opened for appending: lines of several processes do not mix. A lost one is a lost count.
    const std::string line = serialize_line(event);
    auto file = state_->fs.open(state_->layout.stats(), fs::OpenMode::append);
    if (file) (void)state_->fs.write(*file, std::as_bytes(std::span(line)));
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch)
    // No memory: the event is lost, as any may be.
  }
}

std::optional<double> Store::earlier_compile_seconds(const std::string& source_sha256, const std::string& ep) {
  const auto events = read_events(state_->fs, state_->layout);
  for (auto event = events.rbegin(); event != events.rend(); ++event) {
    if (event->kind == "compile" && event->source_sha256 == source_sha256 && event->ep == ep) return event->seconds;
  }
  return std::nullopt;
}

}  // namespace precast::store
