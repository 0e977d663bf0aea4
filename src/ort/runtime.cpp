#include "ort/runtime.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "ort/cpu_vendor.hpp"
#include "ort/executable.hpp"
#include "ort/library_check.hpp"
#include "ort/runtime_search.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::ort {

namespace {

namespace stdfs = std::filesystem;

constexpr const char* kSetUpHint = "run tools/setup in a checkout, or name the library with --ort-library";

bool is_file(const stdfs::path& path) {
  std::error_code error;  // a place that cannot be looked into has no library for us
  return stdfs::is_regular_file(path, error);
}

std::optional<stdfs::path> runtime_in(const stdfs::path& directory) {
  for (const char* name : kRuntimeNames) {
    if (is_file(directory / name)) return without_links(directory / name);
  }
  return std::nullopt;
}

Result<RuntimeLocation> named_runtime(const stdfs::path& named, std::string source) {
  if (!is_file(named)) {
    const std::string from = source == "option" ? "--ort-library" : "PRECAST_ORT_LIBRARY";
    return fail(ErrorCode::not_found, fmt::format("{} names {}, which is not a file", from, util::quoted(named)), named,
                "give the path of libonnxruntime.so.1, or leave it out to have it searched");
  }
  return RuntimeLocation{without_links(named), std::move(source)};
}

std::optional<RuntimeLocation> search_runtime(const stdfs::path& given_directory) {
  const stdfs::path executable = given_directory.empty() ? executable_directory() : given_directory;
  if (!executable.empty()) {
    for (const stdfs::path& directory :
         {executable, executable.parent_path() / "lib", executable.parent_path() / "lib" / "precast"}) {
      if (auto library = runtime_in(directory)) return RuntimeLocation{*library, "beside"};
    }
  }
  for (const stdfs::path& directory : with_parents(executable, kCheckoutParents)) {
    if (auto library = runtime_in(directory / ".deps" / "ort" / "lib")) return RuntimeLocation{*library, "bundled"};
  }
  for (const stdfs::path& directory : system_library_directories()) {
    if (auto library = runtime_in(directory)) return RuntimeLocation{*library, "system"};
  }
  return std::nullopt;
}

std::unexpected<Error> another_library(const stdfs::path& loaded, const stdfs::path& asked) {
  return fail(ErrorCode::bad_input,
              fmt::format("ONNX Runtime '{}' is loaded in this process already; '{}' cannot be loaded beside it",
                          loaded.string(), asked.string()),
              asked, "leave --ort-library out, or name the loaded one");
}

Result<void> assume_vendor(const OrtApi& api, const RuntimeOptions& options) {
  const char* value = std::getenv("PRECAST_ASSUME_CPU_VENDOR");
  const std::string vendor = options.assume_cpu_vendor.empty() && value != nullptr ? value : options.assume_cpu_vendor;
  if (vendor.empty() || assume_cpu_vendor(api, vendor)) return {};
  return fail(ErrorCode::bad_input,
              fmt::format("PRECAST_ASSUME_CPU_VENDOR: cannot take the CPU for one of '{}'", vendor), {},
              "use intel or amd, or unset it");
}

}  // namespace

Result<RuntimeLocation> find_runtime(const RuntimeOptions& options) {
  const char* value = std::getenv("PRECAST_ORT_LIBRARY");
  const stdfs::path from_environment = value == nullptr ? stdfs::path{} : stdfs::path{value};
  const bool by_option = !options.library.empty() && options.library != from_environment;
  if (const auto mapped = mapped_runtime()) {
    const stdfs::path library = without_links(*mapped);
    if (by_option && without_links(options.library) != library) return another_library(library, options.library);
    return RuntimeLocation{library, "loaded"};
  }
  if (by_option) return named_runtime(options.library, "option");
  if (!from_environment.empty()) return named_runtime(from_environment, "environment");
  if (auto location = search_runtime(options.executable_directory)) return *std::move(location);
  return fail(ErrorCode::ep_unavailable, "ONNX Runtime (libonnxruntime.so.1) was not found", {}, kSetUpHint);
}

Error to_error(const Ort::Exception& exception, std::string_view doing, ErrorCode code) {
  if (exception.GetOrtErrorCode() == ORT_NO_SUCHFILE) code = ErrorCode::not_found;
  return Error{code, fmt::format("{}: {}", doing, util::one_line(exception.what())), {}, {}};
}

// Makes the one Runtime of the process.
struct RuntimeLoader {
  // Neither is ever destroyed: ORT and its EPs may log until the process ends.
  static std::mutex& mutex() {
    static auto& mutex = *new std::mutex;
    return mutex;
  }
  static std::shared_ptr<Runtime>& instance() {
    static auto& instance = *new std::shared_ptr<Runtime>;
    return instance;
  }

  static void ORT_API_CALL log(void* runtime, OrtLoggingLevel severity, const char* category, const char* logger,
                               const char* location, const char* message) {
    const auto text = [](const char* value) { return std::string(value == nullptr ? "" : value); };
    static_cast<Runtime*>(runtime)->log(LogLine{severity, text(category), text(location), text(message), text(logger)});
  }

  static Result<std::shared_ptr<Runtime>> start(const OrtApiBase& base, RuntimeLocation location) {
    const std::string version = base.GetVersionString();
    const std::string where = fmt::format("ONNX Runtime {} at {}", version, util::quoted(location.library));
    const OrtApi* api = base.GetApi(ORT_API_VERSION);
    if (api == nullptr) {
      return fail(ErrorCode::ep_unavailable,
                  fmt::format("{} is too old: precast needs API version {} (1.{}.0 or newer)", where, ORT_API_VERSION,
                              ORT_API_VERSION),
                  location.library, "install a newer ONNX Runtime and name it with --ort-library");
    }
    const OrtCompileApi* compile_api = api->GetCompileApi();
    if (compile_api == nullptr) {
      return fail(ErrorCode::ep_unavailable, fmt::format("{} was built without the Compile API", where),
                  location.library, "install a full build of ONNX Runtime and name it with --ort-library");
    }
    Ort::InitApi(api);
    std::shared_ptr<Runtime> runtime(new Runtime);  // make_shared cannot reach the constructor
    runtime->location_ = std::move(location);
    runtime->version_ = version;
    runtime->api_ = api;
    runtime->compile_api_ = compile_api;
    try {
      runtime->env_ = new Ort::Env(ORT_LOGGING_LEVEL_WARNING, "precast", &RuntimeLoader::log, runtime.get());
      runtime->build_info_ = Ort::GetBuildInfoString();
    } catch (const Ort::Exception& exception) {
      return std::unexpected<Error>(to_error(exception, "cannot start " + where, ErrorCode::ep_unavailable));
    }
    return runtime;
  }

  static Result<std::shared_ptr<Runtime>> make(RuntimeLocation location) {
    const bool mapped = location.source == "loaded";
    PRECAST_TRY_ASSIGN(const LoadedRuntime loaded, load_runtime_library(location.library, mapped));
    const auto get_api_base = reinterpret_cast<const OrtApiBase* (*)()>(loaded.get_api_base);
    auto runtime = start(*get_api_base(), RuntimeLocation{loaded.library, std::move(location.source)});
    // Left mapped, a refused one would be taken for the process's own ORT by the next call.
    if (!runtime) unload_runtime_library(loaded);
    return runtime;
  }

  static Result<std::shared_ptr<Runtime>> load(const RuntimeOptions& options) {
    const std::scoped_lock lock(mutex());
    std::shared_ptr<Runtime>& runtime = instance();
    if (runtime != nullptr) {
      const bool same = options.library.empty() || without_links(options.library) == runtime->library();
      if (!same) return another_library(runtime->library(), options.library);
      return runtime;
    }
    auto location = find_runtime(options);
    if (!location && location.error().code == ErrorCode::not_found && location.error().path.empty()) {
      // The loader knows places that we do not (ld.so.conf): its own search is the last resort.
      if (auto found = make(RuntimeLocation{kRuntimeNames[0], "system"})) return runtime = *std::move(found);
    }
    if (!location) return std::unexpected<Error>(std::move(location).error());
    PRECAST_TRY_ASSIGN(runtime, make(*std::move(location)));
    return runtime;
  }

  static Result<std::shared_ptr<Runtime>> use(const OrtApiBase& base) {
    const std::scoped_lock lock(mutex());
    std::shared_ptr<Runtime>& runtime = instance();
    const stdfs::path library = library_of(reinterpret_cast<const void*>(base.GetApi));
    if (runtime != nullptr) {
      if (base.GetApi(ORT_API_VERSION) != runtime->api_) return another_library(runtime->library(), library);
      return runtime;
    }
    PRECAST_TRY_ASSIGN(runtime, start(base, RuntimeLocation{library, "loaded"}));
    return runtime;
  }
};

Result<std::shared_ptr<Runtime>> Runtime::load(const RuntimeOptions& options) {
  PRECAST_TRY_ASSIGN(auto runtime, RuntimeLoader::load(options));
  PRECAST_TRY(assume_vendor(runtime->api(), options));
  return runtime;
}

Result<std::shared_ptr<Runtime>> Runtime::use(const OrtApiBase* base) {
  return RuntimeLoader::use(*base);
}

int Runtime::add_log_sink(LogSink sink, OrtLoggingLevel from) {
  const std::scoped_lock lock(sinks_mutex_);
  sinks_.push_back(Sink{next_sink_, from, std::move(sink)});
  return next_sink_++;
}

void Runtime::remove_log_sink(int id) {
  const std::scoped_lock lock(sinks_mutex_);
  std::erase_if(sinks_, [id](const Sink& sink) { return sink.id == id; });
}

void Runtime::log(const LogLine& line) noexcept {
  const std::scoped_lock lock(sinks_mutex_);
  for (const Sink& sink : sinks_) {
    if (line.severity >= sink.from) sink.call(line);
  }
}

Result<void> Runtime::register_ep_library(const std::string& name, const std::filesystem::path& library) {
  const std::scoped_lock lock(registered_mutex_);
  if (const auto at = registered_.find(name); at != registered_.end()) {
    if (at->second == library) return {};
    return fail(ErrorCode::busy,
                fmt::format("EP {} is registered from '{}' already; '{}' cannot replace it in this process", name,
                            at->second.string(), library.string()),
                library, "use the other source in a process of its own");
  }
  PRECAST_TRY(check_library_file(library));
  const LogCapture log(*this);
  try {
    env_->RegisterExecutionProviderLibrary(name.c_str(), library.string());
  } catch (const Ort::Exception& exception) {
    Error error = to_error(exception, fmt::format("EP {} cannot be registered", name), ErrorCode::ep_unavailable);
    error.code = ErrorCode::ep_unavailable;
    error.path = library;
    error.hint = "precast eps shows the EPs that were found; name another library with --ep-library NAME=PATH";
    for (const LogLine& line : log.lines()) {
      if (line.severity >= ORT_LOGGING_LEVEL_ERROR) error.message += fmt::format(" ({})", util::one_line(line.message));
    }
    return std::unexpected<Error>(std::move(error));
  }
  registered_.emplace(name, library);
  return {};
}

}  // namespace precast::ort
