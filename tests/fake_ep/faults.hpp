#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace precast::fake_ep {

enum class Where {
  kFactories,
  kDevices,
  kCreateEp,
  kCapability,
  kCompile,
  kCompileBeforeWrite,
  kCompileAfterWrite,
  kCompileLate,
  kLoad,
  kCreateState,
  kRunStart,
  kCompute,
  kReleaseEp,
  kReleaseFactory,
  kUnload,
  kValidate,
};

struct Fault {
  std::string what;
  std::string value;           // "" when none was given
  std::optional<Where> where;  // none: a fault with a place of its own
  int limit = 0;               // 0: every time
  std::string text;            // as written; the name under which occurrences are counted
};

// Reads the grammar of README.md. Throws std::invalid_argument that quotes what it did not understand.
std::vector<Fault> parse_faults(std::string_view text);

// The faults of one session (or of the process, with no text of its own), together with those of FAKE_EP_FAULT.
class Faults {
 public:
  Faults() = default;
  explicit Faults(std::string_view option) : own_(parse_faults(option)) {}

  // Does what is asked for at this place, in the order given; it may not return. Throws EpError for `fail`.
  void at(Where where) const;

  // The value of a fault with a place of its own, if it is asked for (and its limit is not used up). Counts: ask once
  // per occurrence.
  std::optional<std::string> behaviour(std::string_view what) const;

 private:
  std::vector<Fault> all() const;

  std::vector<Fault> own_;
};

}  // namespace precast::fake_ep
