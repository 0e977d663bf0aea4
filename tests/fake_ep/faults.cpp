#include "faults.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <stdexcept>
#include <system_error>

#include <sys/file.h>

#include <fcntl.h>
#include <unistd.h>

#include "acts.hpp"
#include "environment.hpp"
#include "error.hpp"

namespace precast::fake_ep {
namespace {

struct Place {
  std::string_view name;
  Where where;
};

constexpr std::array kPlaces = {
    Place{"factories", Where::kFactories},
    Place{"devices", Where::kDevices},
    Place{"create_ep", Where::kCreateEp},
    Place{"capability", Where::kCapability},
    Place{"compile", Where::kCompile},
    Place{"compile_before_write", Where::kCompileBeforeWrite},
    Place{"compile_after_write", Where::kCompileAfterWrite},
    Place{"compile_late", Where::kCompileLate},
    Place{"load", Where::kLoad},
    Place{"create_state", Where::kCreateState},
    Place{"run_start", Where::kRunStart},
    Place{"compute", Where::kCompute},
    Place{"release_ep", Where::kReleaseEp},
    Place{"release_factory", Where::kReleaseFactory},
    Place{"unload", Where::kUnload},
    Place{"validate", Where::kValidate},
};

struct Behaviour {
  std::string_view what;
  Value value;
};

constexpr std::array kBehaviours = {
    Behaviour{"bad_reference", Value::kRequired},
    Behaviour{"truncate_binary", Value::kNone},
    Behaviour{"empty_binary", Value::kNone},
    Behaviour{"missing_binary", Value::kNone},
    Behaviour{"other_source", Value::kRequired},
    Behaviour{"refuse_load", Value::kNone},
    Behaviour{"null_info", Value::kNone},
    Behaviour{"no_factories", Value::kNone},
    Behaviour{"log_error_claim_nothing", Value::kNone},
};

constexpr std::array kReferences = {"absolute", "dotdot", "empty", "link", "notutf8"};

std::invalid_argument not_understood(std::string_view fault, const std::string& why) {
  return std::invalid_argument("fake EP: fault '" + std::string(fault) + "' is not understood: " + why);
}

void check_value(const Fault& fault, Value rule, bool given) {
  if (rule == Value::kNone && given) throw not_understood(fault.text, "it takes no value");
  if (rule == Value::kRequired && fault.value.empty()) throw not_understood(fault.text, "it needs a value");
}

// Takes "#N" off the end.
int take_limit(std::string_view& rest, std::string_view text) {
  const auto mark = rest.rfind('#');
  if (mark == std::string_view::npos) return 0;
  int limit = 0;
  const auto digits = rest.substr(mark + 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), limit);
  if (error != std::errc{} || end != digits.data() + digits.size() || limit < 1) {
    throw not_understood(text, "after '#' stands a positive number");
  }
  rest = rest.substr(0, mark);
  return limit;
}

// Takes "@where" off the end.
std::optional<Where> take_where(std::string_view& rest, std::string_view text) {
  const auto mark = rest.rfind('@');
  if (mark == std::string_view::npos) return std::nullopt;
  const auto name = rest.substr(mark + 1);
  const auto* place = std::ranges::find(kPlaces, name, &Place::name);
  if (place == kPlaces.end()) throw not_understood(text, "there is no place '" + std::string(name) + "'");
  rest = rest.substr(0, mark);
  return place->where;
}

void add_behaviour(Fault fault, const Behaviour& behaviour, bool value_given, std::vector<Fault>& faults) {
  if (fault.where) throw not_understood(fault.text, "it has a place of its own");
  check_value(fault, behaviour.value, value_given);
  if (fault.what == "bad_reference" && std::ranges::find(kReferences, fault.value) == kReferences.end()) {
    throw not_understood(fault.text, "there is no bad reference '" + fault.value + "'");
  }
  faults.push_back(std::move(fault));
}

void add_swap_back(Fault fault, std::vector<Fault>& faults) {
  if (fault.where) throw not_understood(fault.text, "it has a place of its own");
  check_value(fault, Value::kRequired, true);
  fault.what = "exchange";
  Fault back = fault;
  fault.where = Where::kCompile;
  back.where = Where::kCompileLate;
  back.text += "@compile_late";
  faults.push_back(std::move(fault));
  faults.push_back(std::move(back));
}

void add_fault(std::string_view text, std::vector<Fault>& faults) {
  Fault fault;
  fault.text = text;
  std::string_view rest = text;
  fault.limit = take_limit(rest, text);
  fault.where = take_where(rest, text);
  const auto equals = rest.find('=');
  const bool value_given = equals != std::string_view::npos;
  fault.what = rest.substr(0, equals);
  if (value_given) fault.value = rest.substr(equals + 1);
  if (fault.what == "swap_back") return add_swap_back(std::move(fault), faults);
  const auto* behaviour = std::ranges::find(kBehaviours, std::string_view(fault.what), &Behaviour::what);
  if (behaviour != kBehaviours.end()) return add_behaviour(std::move(fault), *behaviour, value_given, faults);
  const Act* act = find_act(fault.what);
  if (act == nullptr) throw not_understood(text, "there is no fault '" + fault.what + "'");
  check_value(fault, act->value, value_given);
  if (!fault.where) fault.where = Where::kCompile;
  faults.push_back(std::move(fault));
}

class CounterFile {
 public:
  explicit CounterFile(const std::string& path)
      : fd_(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) {
    if (fd_ < 0 || ::flock(fd_, LOCK_EX) != 0) fail(path);
  }
  ~CounterFile() { ::close(fd_); }
  CounterFile(const CounterFile&) = delete;
  CounterFile& operator=(const CounterFile&) = delete;

  // Adds the line unless it is there `limit` times already.
  bool add(const std::string& line, int limit) const {
    std::string content;
    std::array<char, 4096> buffer{};
    for (ssize_t n = 0; (n = ::read(fd_, buffer.data(), buffer.size())) > 0;) {
      content.append(buffer.data(), static_cast<std::size_t>(n));
    }
    int seen = 0;
    for (std::size_t at = 0, end = 0; (end = content.find('\n', at)) != std::string::npos; at = end + 1) {
      if (content.compare(at, end - at, line) == 0) ++seen;
    }
    if (seen >= limit) return false;
    const std::string entry = line + '\n';
    if (::write(fd_, entry.data(), entry.size()) != static_cast<ssize_t>(entry.size())) fail(line);
    return true;
  }

 private:
  [[noreturn]] static void fail(const std::string& what) {
    throw std::system_error(errno, std::generic_category(), "fake EP: FAKE_EP_COUNTER, " + what);
  }

  int fd_;
};

bool within_limit(const Fault& fault) {
  if (fault.limit == 0) return true;
  const auto path = environment("COUNTER");
  if (!path) throw not_understood(fault.text, "'#' needs FAKE_EP_COUNTER");
  return CounterFile(*path).add(fault.text, fault.limit);
}

}  // namespace

std::vector<Fault> parse_faults(std::string_view text) {
  std::vector<Fault> faults;
  while (!text.empty()) {
    const auto end = text.find(';');
    const auto one = text.substr(0, end);
    if (!one.empty()) add_fault(one, faults);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  for (const Fault& fault : faults) {
    if (fault.limit != 0 && !environment("COUNTER")) throw not_understood(fault.text, "'#' needs FAKE_EP_COUNTER");
  }
  return faults;
}

std::vector<Fault> Faults::all() const {
  std::vector<Fault> faults = parse_faults(environment_or("FAULT", ""));
  faults.insert(faults.end(), own_.begin(), own_.end());
  return faults;
}

void Faults::at(Where where) const {
  for (const Fault& fault : all()) {
    if (fault.where == where && within_limit(fault)) find_act(fault.what)->run(fault);
  }
}

std::optional<std::string> Faults::behaviour(std::string_view what) const {
  for (const Fault& fault : all()) {
    if (fault.what == what && within_limit(fault)) return fault.value;
  }
  return std::nullopt;
}

}  // namespace precast::fake_ep
