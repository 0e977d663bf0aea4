// ONNX Runtime, loaded at run time: --ort-library, then PRECAST_ORT_LIBRARY, then beside the executable, then the
// dependency folder of the checkout, then the system. A library already mapped into the process is used instead, never
// a second one. API version 23 or newer. ORT's environment is the only singleton: it is made once per process and never
// destroyed (an EP that crashes while unloading must not change an exit code).
//
// Thread safety: load() may be called from any thread; a Runtime may be used from many threads.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <onnxruntime_cxx_api.h>

#include "precast/error.hpp"

namespace precast::ort {

struct RuntimeOptions {
  std::filesystem::path library;               // --ort-library or PRECAST_ORT_LIBRARY; empty = search
  std::filesystem::path executable_directory;  // where to look beside; empty = /proc/self/exe's
  // "intel": take the CPU for one of that vendor (ort/cpu_vendor.hpp), so that OpenVINO offers its CPU device on any
  // x86-64. Empty = PRECAST_ASSUME_CPU_VENDOR, and if that is empty too the CPU's own vendor. Unknown: bad_input.
  std::string assume_cpu_vendor;
};

// Where load() would take ORT from, without loading it: {path, "option" | "environment" | "beside" | "bundled" |
// "system" | "loaded"}; ep_unavailable with a hint when there is none. `options.library` that equals
// PRECAST_ORT_LIBRARY is "environment": a default, so a library that is already mapped wins over it; over an option it
// does not (bad_input). The path is absolute and free of links.
struct RuntimeLocation {
  std::filesystem::path library;
  std::string source;
};
[[nodiscard]] Result<RuntimeLocation> find_runtime(const RuntimeOptions& options);

// One line that ORT or an EP logged.
struct LogLine {
  OrtLoggingLevel severity = ORT_LOGGING_LEVEL_WARNING;
  std::string category;
  std::string location;
  std::string message;
  std::string logger;  // id of the logger: SessionOptions::SetLogId of the session that it belongs to, or empty
};

class Runtime {
 public:
  // The second call gives the same object; one that names another library is bad_input. A named one that is
  // missing: not_found; none found, not ORT, too old, or not loadable: ep_unavailable. Sets no environment variable:
  // ORT_DISABLE_TELEMETRY is the program's to set before this. A failure is not remembered.
  [[nodiscard]] static Result<std::shared_ptr<Runtime>> load(const RuntimeOptions& options);
  // For a program that has ORT already, from wherever: its OrtGetApiBase(). The same object as load() gives afterwards;
  // another ORT than the one in use is bad_input, one that is too old ep_unavailable.
  [[nodiscard]] static Result<std::shared_ptr<Runtime>> use(const OrtApiBase* base);
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  [[nodiscard]] const std::filesystem::path& library() const { return location_.library; }
  [[nodiscard]] const std::string& source() const { return location_.source; }
  [[nodiscard]] const std::string& version() const { return version_; }        // "1.32.0"
  [[nodiscard]] const std::string& build_info() const { return build_info_; }  // GetBuildInfoString
  [[nodiscard]] const OrtApi& api() const { return *api_; }
  [[nodiscard]] const OrtCompileApi& compile_api() const { return *compile_api_; }
  [[nodiscard]] Ort::Env& env() { return *env_; }

  // Every log line of ORT and its EPs goes to these sinks instead of stderr; without a sink it is dropped. A sink gets
  // the lines of severity `from` and above, is called from any thread under a lock, and must neither throw nor call
  // into ORT or this Runtime. ORT makes lines of WARNING and above unless a session asks for more.
  using LogSink = std::function<void(const LogLine&)>;
  [[nodiscard]] int add_log_sink(LogSink sink, OrtLoggingLevel from = ORT_LOGGING_LEVEL_WARNING);
  void remove_log_sink(int id);  // when it returns, the sink is not running and will not be called again

  // RegisterExecutionProviderLibrary, once per process and name. The same library again: nothing happens; another one
  // under a name that is taken: busy; refused by ORT: ep_unavailable with ORT's words and what the EP logged.
  [[nodiscard]] Result<void> register_ep_library(const std::string& name, const std::filesystem::path& library);

 private:
  friend struct RuntimeLoader;
  struct Sink {
    int id = 0;
    OrtLoggingLevel from = ORT_LOGGING_LEVEL_WARNING;
    LogSink call;
  };
  Runtime() = default;
  void log(const LogLine& line) noexcept;
  RuntimeLocation location_;
  std::string version_;
  std::string build_info_;
  const OrtApi* api_ = nullptr;
  const OrtCompileApi* compile_api_ = nullptr;
  Ort::Env* env_ = nullptr;  // never destroyed
  std::mutex sinks_mutex_;
  std::vector<Sink> sinks_;
  int next_sink_ = 1;
  std::mutex registered_mutex_;
  std::map<std::string, std::filesystem::path> registered_;  // name -> library
};

// Collects log lines for the lifetime of the object.
class LogCapture {
 public:
  explicit LogCapture(Runtime& runtime, OrtLoggingLevel from = ORT_LOGGING_LEVEL_WARNING);
  ~LogCapture();
  LogCapture(const LogCapture&) = delete;
  LogCapture& operator=(const LogCapture&) = delete;
  [[nodiscard]] std::vector<LogLine> lines() const;
  [[nodiscard]] bool has_errors() const;  // a line of severity ERROR or FATAL

 private:
  struct State;
  Runtime& runtime_;
  std::shared_ptr<State> state_;
  int sink_ = 0;
};

// ORT's exception or status as an Error: `code`, unless ORT's own code says something more exact (no such file:
// not_found). The message is `doing`, a colon, and ORT's words on one line.
[[nodiscard]] Error to_error(const Ort::Exception& exception, std::string_view doing, ErrorCode code);

}  // namespace precast::ort
