#include <array>
#include <charconv>

#include <fmt/format.h>

#include "ort/session_call.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::ort {

namespace {

struct Level {
  int number;
  std::string_view name;
};

constexpr std::array<Level, 5> kLevels = {{{ORT_DISABLE_ALL, "disable"},
                                           {ORT_ENABLE_BASIC, "basic"},
                                           {ORT_ENABLE_EXTENDED, "extended"},
                                           {ORT_ENABLE_LAYOUT, "layout"},
                                           {ORT_ENABLE_ALL, "all"}}};

void apply(Ort::SessionOptions& options, const SessionSettings& settings) {
  for (const auto& [key, value] : settings.config_entries) options.AddConfigEntry(key.c_str(), value.c_str());
  if (settings.optimization_level) {
    options.SetGraphOptimizationLevel(static_cast<GraphOptimizationLevel>(*settings.optimization_level));
  }
  for (const auto& [name, size] : settings.free_dimensions) {
    Ort::ThrowOnError(Ort::GetApi().AddFreeDimensionOverrideByName(options, name.c_str(), size));
  }
}

}  // namespace

Result<int> parse_optimization_level(std::string_view text) {
  const std::string lower = util::ascii_lower(util::trim(text));
  int number = -1;
  const char* end = lower.data() + lower.size();
  const auto [stop, error] = std::from_chars(lower.data(), end, number);
  const bool is_number = error == std::errc{} && stop == end;
  for (const Level& level : kLevels) {
    if (is_number ? number == level.number : lower == level.name) return level.number;
  }
  return fail(ErrorCode::bad_input, fmt::format("'{}' is no optimization level", text), {},
              "use disable (0), basic (1), extended (2), layout (3) or all (99)");
}

std::string_view optimization_level_name(int level) {
  for (const Level& known : kLevels) {
    if (known.number == level) return known.name;
  }
  return "unknown";
}

Result<Ort::SessionOptions> make_session_options(Catalog& catalog, const Target& target,
                                                 const SessionSettings& settings) {
  // The CPU EP is in every session; adding it by hand would forbid session.disable_cpu_ep_fallback.
  const bool built_in = target.ep.found.library.empty();
  Ort::ConstEpDevice device{nullptr};
  if (!built_in) {
    PRECAST_TRY_ASSIGN(device, catalog.device_of(target));
  }
  try {
    Ort::SessionOptions options = settings.base ? settings.base->Clone() : Ort::SessionOptions();
    apply(options, settings);  // before the EP is added: it reads them then
    if (!built_in) {
      const Ort::KeyValuePairs pairs(
          std::unordered_map<std::string, std::string>(target.provider_options.begin(), target.provider_options.end()));
      options.AppendExecutionProvider_V2(catalog.runtime().env(), {device}, pairs);
    }
    return options;
  } catch (const Ort::Exception& exception) {
    return std::unexpected<Error>(
        to_error(exception, fmt::format("ONNX Runtime refuses the session options for {}", target.ep.found.name),
                 ErrorCode::bad_input));
  }
}

}  // namespace precast::ort
