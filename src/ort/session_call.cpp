#include "ort/session_call.hpp"

#include <atomic>
#include <charconv>
#include <mutex>
#include <utility>

#include <fmt/format.h>
#include <onnxruntime_session_options_config_keys.h>

#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::ort {

namespace {

constexpr std::uint32_t kCompileFlags =
    OrtCompileApiFlags_ERROR_IF_NO_NODES_COMPILED | OrtCompileApiFlags_ERROR_IF_OUTPUT_FILE_EXISTS;
constexpr std::string_view kNoNodes = "Unable to compile any nodes";
constexpr std::string_view kPlaced = "placed on [";
constexpr std::string_view kNumber = "]. Number of nodes: ";

// What an EP says first is nearer to the cause than what ORT makes of it.
std::string first_line(const std::vector<LogLine>& lines, OrtLoggingLevel from) {
  for (const LogLine& line : lines) {
    if (line.severity < from) continue;
    return util::escape_invalid_utf8(util::trim(line.message.substr(0, line.message.find('\n'))));
  }
  return {};
}

std::string first_error(const std::vector<LogLine>& lines) {
  return first_line(lines, ORT_LOGGING_LEVEL_ERROR);
}

std::string first_complaint(const std::vector<LogLine>& lines) {
  std::string error = first_error(lines);
  return error.empty() ? first_line(lines, ORT_LOGGING_LEVEL_WARNING) : error;
}

void add_logged(Error& error, const std::string& logged) {
  if (logged.empty() || error.message.find(logged) != std::string::npos) return;
  error.message += fmt::format(" (logged before: {})", logged);
}

Error compile_error(const Ort::Exception& exception, const Target& target, const CompileCall& call,
                    const std::vector<LogLine>& lines) {
  const std::string doing = fmt::format("{} did not compile {}", target.ep.found.name, util::quoted(call.model));
  Error error = to_error(exception, doing, ErrorCode::compile_failed);
  const std::string logged = first_error(lines);
  if (logged.empty() && std::string_view(exception.what()).find(kNoNodes) != std::string_view::npos) {
    return Error{ErrorCode::unsupported,
                 fmt::format("{} runs no node of {}: there is nothing to compile", target.ep.found.name,
                             util::quoted(call.model)),
                 call.model,
                 "has it open sizes that this EP wants fixed? give --free-dimension NAME=N; else use another EP"};
  }
  add_logged(error, logged);
  error.path = call.model;
  return error;
}

Result<std::filesystem::path> absolute_path(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::path result = std::filesystem::absolute(path, error);
  if (error) return fail(ErrorCode::io, fmt::format("{}: {}", util::quoted(path), error.message()), path);
  return result;
}

// "... placed on [NAME]. Number of nodes: N"
std::optional<std::pair<std::string, std::uint64_t>> parse_placement(std::string_view message) {
  const std::size_t placed = message.find(kPlaced);
  if (placed == std::string_view::npos) return std::nullopt;
  const std::size_t number = message.find(kNumber, placed);
  if (number == std::string_view::npos) return std::nullopt;
  const std::string_view name = message.substr(placed + kPlaced.size(), number - placed - kPlaced.size());
  const std::string_view digits = message.substr(number + kNumber.size());
  std::uint64_t count = 0;
  if (std::from_chars(digits.data(), digits.data() + digits.size(), count).ec != std::errc{}) return std::nullopt;
  return std::pair{std::string(name), count};
}

void add_placement(std::map<std::string, std::uint64_t>& nodes, std::string_view message) {
  if (auto placement = parse_placement(message)) nodes[placement->first] += placement->second;
}

// Counts from the log lines of one session alone, whatever other threads open meanwhile.
class PlacementLog {
 public:
  explicit PlacementLog(Runtime& runtime) : runtime_(runtime), logger_(fmt::format("precast-{}", next_id())) {
    sink_ = runtime_.add_log_sink(
        [this](const LogLine& line) {
          if (line.logger == logger_) add_placement(nodes_, line.message);
        },
        ORT_LOGGING_LEVEL_VERBOSE);
  }
  ~PlacementLog() { stop(); }
  PlacementLog(const PlacementLog&) = delete;
  PlacementLog& operator=(const PlacementLog&) = delete;

  [[nodiscard]] const std::string& logger() const { return logger_; }
  std::map<std::string, std::uint64_t> stop() {
    runtime_.remove_log_sink(sink_);
    return std::exchange(nodes_, {});
  }

 private:
  static std::uint64_t next_id() {
    static std::atomic<std::uint64_t> next{1};
    return next++;
  }
  Runtime& runtime_;
  std::string logger_;
  std::map<std::string, std::uint64_t> nodes_;
  int sink_ = 0;
};

SessionSettings settings_for(const Target& target, const SessionSettings& settings, const OpenCall& call,
                             const std::filesystem::path& model) {
  SessionSettings wanted = settings;
  if (call.compiled) {
    wanted.config_entries[kOrtSessionOptionsDisableModelCompile] = "1";
    wanted.config_entries[kOrtSessionOptionEpContextFilePath] = model.string();
  }
  if (call.bytes && !call.external_folder.empty()) {
    wanted.config_entries[kOrtSessionOptionsModelExternalInitializersFileFolderPath] = call.external_folder.string();
    // Of a model that is compiled already: where its binaries are looked for.
    wanted.config_entries[kOrtSessionOptionEpContextFilePath] = (call.external_folder / "model.onnx").string();
  }
  // For the CPU EP itself it would mean "no node may run".
  if (call.forbid_cpu_fallback && !target.ep.found.library.empty()) {
    wanted.config_entries[kOrtSessionOptionsDisableCPUEPFallback] = "1";
  }
  return wanted;
}

Result<void> compile_with(Catalog& catalog, const Target& target, const SessionSettings& settings,
                          const Ort::SessionOptions& options, const CompileCall& call) {
  PRECAST_TRY_ASSIGN(const auto model, absolute_path(call.model));
  PRECAST_TRY_ASSIGN(const auto output, absolute_path(call.output));
  const LogCapture log(catalog.runtime());
  try {
    Ort::ModelCompilationOptions compilation(catalog.runtime().env(), options);
    compilation.SetInputModelPath(model.c_str());
    compilation.SetOutputModelPath(output.c_str());
    compilation.SetEpContextEmbedMode(call.embed);
    compilation.SetFlags(kCompileFlags);
    compilation.SetGraphOptimizationLevel(
        static_cast<GraphOptimizationLevel>(settings.optimization_level.value_or(ORT_DISABLE_ALL)));
    Ort::ThrowOnError(Ort::CompileModel(catalog.runtime().env(), compilation));
    return {};
  } catch (const Ort::Exception& exception) {
    return std::unexpected<Error>(compile_error(exception, target, call, log.lines()));
  }
}

}  // namespace

Result<void> compile_model(Catalog& catalog, const Target& target, const SessionSettings& settings,
                           const CompileCall& call) {
  PRECAST_TRY_ASSIGN(const Ort::SessionOptions options, make_session_options(catalog, target, settings));
  return compile_with(catalog, target, settings, options, call);
}

Result<void> compile_sharing_models(Catalog& catalog, const Target& target, const SessionSettings& settings,
                                    std::span<const CompileCall> calls) {
  SessionSettings sharing = settings;
  sharing.config_entries[kOrtSessionOptionShareEpContexts] = "1";
  PRECAST_TRY_ASSIGN(Ort::SessionOptions options, make_session_options(catalog, target, sharing));
  for (const CompileCall& call : calls) {
    if (&call == &calls.back()) options.AddConfigEntry(kOrtSessionOptionStopShareEpContexts, "1");
    PRECAST_TRY(compile_with(catalog, target, settings, options, call));
  }
  return {};
}

std::map<std::string, std::uint64_t> parse_node_placement(const std::vector<LogLine>& lines) {
  std::map<std::string, std::uint64_t> nodes;
  for (const LogLine& line : lines) add_placement(nodes, line.message);
  return nodes;
}

Result<OpenedSession> open_session(Catalog& catalog, const Target& target, const SessionSettings& settings,
                                   const OpenCall& call) {
  PRECAST_TRY_ASSIGN(const auto model, absolute_path(call.model));
  PRECAST_TRY_ASSIGN(Ort::SessionOptions options,
                     make_session_options(catalog, target, settings_for(target, settings, call, model)));
  const LogCapture log(catalog.runtime());
  std::optional<PlacementLog> placement;
  if (call.want_node_counts) placement.emplace(catalog.runtime());
  try {
    if (placement) {
      options.SetLogId(placement->logger().c_str());
      options.SetLogSeverityLevel(ORT_LOGGING_LEVEL_VERBOSE);
    }
    OpenedSession opened;
    opened.session = call.bytes ? Ort::Session(catalog.runtime().env(), call.bytes->data(), call.bytes->size(), options)
                                : Ort::Session(catalog.runtime().env(), model.c_str(), options);
    if (placement) opened.provider_nodes = placement->stop();
    opened.complaint = first_complaint(log.lines());
    return opened;
  } catch (const Ort::Exception& exception) {
    const std::string doing = fmt::format("{} did not open {}", target.ep.found.name, util::quoted(call.model));
    Error error = to_error(exception, doing, ErrorCode::compile_failed);
    add_logged(error, first_error(log.lines()));
    error.path = call.model;
    return std::unexpected<Error>(std::move(error));
  }
}

Result<Compatibility> check_compatibility(Catalog& catalog, const Target& target, const std::string& compatibility) {
  if (compatibility.empty() || target.ep.found.library.empty()) return Compatibility::not_applicable;
  PRECAST_TRY_ASSIGN(const Ort::ConstEpDevice device, catalog.device_of(target));
  try {
    switch (Ort::GetModelCompatibilityForEpDevices({device}, compatibility.c_str())) {
      case OrtCompiledModelCompatibility_EP_NOT_APPLICABLE:
        return Compatibility::not_applicable;
      case OrtCompiledModelCompatibility_EP_SUPPORTED_OPTIMAL:
        return Compatibility::optimal;
      case OrtCompiledModelCompatibility_EP_SUPPORTED_PREFER_RECOMPILATION:
        return Compatibility::prefer_recompilation;
      case OrtCompiledModelCompatibility_EP_UNSUPPORTED:
        return Compatibility::unsupported;
    }
    return Compatibility::unsupported;  // a value of a newer ORT: doubt is a miss
  } catch (const Ort::Exception& exception) {
    return std::unexpected<Error>(to_error(
        exception, fmt::format("{} cannot judge a compiled model", target.ep.found.name), ErrorCode::ep_unavailable));
  }
}

}  // namespace precast::ort
