// ONNX Runtime, loaded at run time: --ort-library, then PRECAST_ORT_LIBRARY, then beside the executable, then the
// dependency folder of the checkout, then the system. A library already mapped into the process is used instead, never a
// second one. API version 23 or newer. ORT's environment is the only singleton: it is made once per process and never
// destroyed (an EP that crashes while unloading must not change an exit code).
//
// Thread safety: load() may be called from any thread; a Runtime may be used from many threads.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
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
};

// Where load() would take ORT from, without loading it: {path, "option" | "environment" | "beside" | "bundled" |
// "system" | "loaded"}; not_found with a hint when there is none.
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
};

class Runtime {
 public:
  [[nodiscard]] static Result<std::shared_ptr<Runtime>> load(const RuntimeOptions& options);

  [[nodiscard]] const std::filesystem::path& library() const { return location_.library; }
  [[nodiscard]] const std::string& source() const { return location_.source; }
  [[nodiscard]] const std::string& version() const { return version_; }       // "1.32.0"
  [[nodiscard]] const std::string& build_info() const { return build_info_; }  // GetBuildInfoString
  [[nodiscard]] const OrtApi& api() const { return *api_; }
  [[nodiscard]] const OrtCompileApi& compile_api() const { return *compile_api_; }
  [[nodiscard]] Ort::Env& env() { return *env_; }

  // Every log line of ORT and its EPs goes to these sinks (called from any thread, under a lock) instead of stderr.
  using LogSink = std::function<void(const LogLine&)>;
  [[nodiscard]] int add_log_sink(LogSink sink);
  void remove_log_sink(int id);

 private:
  friend struct RuntimeLoader;
  Runtime() = default;
  RuntimeLocation location_;
  std::string version_;
  std::string build_info_;
  const OrtApi* api_ = nullptr;
  const OrtCompileApi* compile_api_ = nullptr;
  Ort::Env* env_ = nullptr;  // never destroyed
  std::mutex sinks_mutex_;
  std::vector<std::pair<int, LogSink>> sinks_;
  int next_sink_ = 1;
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

// ORT's exception or status as an Error: code chosen from the ORT code, message prefixed by `doing`.
[[nodiscard]] Error to_error(const Ort::Exception& exception, std::string_view doing, ErrorCode code);

}  // namespace precast::ort
