#include "compile/worker_main.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

#include <sys/resource.h>
#include <sys/wait.h>

#include <unistd.h>

#include "compile/compare_with_source.hpp"
#include "compile/mapped_libraries.hpp"
#include "compile/worker_protocol.hpp"
#include "ort/session_call.hpp"
#include "process/supervisor.hpp"
#include "util/time.hpp"
#include "util/try.hpp"

namespace precast::compile {

namespace {

bool read_fully(int descriptor, char* into, std::size_t wanted) {
  while (wanted > 0) {
    const ssize_t got = ::read(descriptor, into, wanted);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    into += got;
    wanted -= static_cast<std::size_t>(got);
  }
  return true;
}

Result<WorkerRequest> read_request() {
  unsigned char head[4];
  if (!read_fully(kPipeDescriptor, reinterpret_cast<char*>(head), sizeof head)) {
    return fail(ErrorCode::bad_input, "precast-worker got no request: it is started by precast, not by hand");
  }
  const std::uint32_t length = static_cast<std::uint32_t>(head[0]) | static_cast<std::uint32_t>(head[1]) << 8U |
                               static_cast<std::uint32_t>(head[2]) << 16U | static_cast<std::uint32_t>(head[3]) << 24U;
  if (length > kMaximumRequestBytes) return fail(ErrorCode::bad_input, "the request to precast-worker is too large");
  std::string text(length, '\0');
  if (!read_fully(kPipeDescriptor, text.data(), length)) {
    return fail(ErrorCode::bad_input, "the request to precast-worker ended early");
  }
  PRECAST_TRY_ASSIGN(auto request, parse_request(text));
  if (request.precast_version != PRECAST_VERSION) {
    return fail(ErrorCode::unsupported,
                "precast-worker is version " PRECAST_VERSION ", precast is " + request.precast_version, {},
                "install both from one build, or name the right one with PRECAST_WORKER");
  }
  return request;
}

// A report that cannot be written has nobody to read it: the parent is gone, and the supervisor ends us.
void report(const WorkerEvent& event) {
  const std::string line = serialize_line(event);
  std::size_t done = 0;
  while (done < line.size()) {
    const ssize_t wrote = ::write(kResultDescriptor, line.data() + done, line.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return;
    done += static_cast<std::size_t>(wrote);
  }
}

void report_time(WorkerEventKind kind, double ms) {
  WorkerEvent event;
  event.kind = kind;
  event.ms = ms;
  report(event);
}

// The same device as the parent's: every field if possible, else what tells devices of one EP apart.
const ort::DeviceInfo* find_device(const ort::EpDescription& ep, const ort::DeviceInfo& wanted) {
  for (const ort::DeviceInfo& device : ep.devices) {
    if (device == wanted) return &device;
  }
  for (const ort::DeviceInfo& device : ep.devices) {
    if (device.ep_name == wanted.ep_name && device.device_class == wanted.device_class &&
        device.vendor_id == wanted.vendor_id && device.device_id == wanted.device_id) {
      return &device;
    }
  }
  return nullptr;
}

Result<ort::Target> bind(ort::Catalog& catalog, const WorkerRequest& request) {
  PRECAST_TRY_ASSIGN(auto ep, catalog.describe(catalog.found().front()));
  const ort::DeviceInfo* device = find_device(ep, request.device);
  if (device == nullptr) {
    return fail(ErrorCode::ep_unavailable, request.ep_name + " offers the worker no device like the one chosen");
  }
  ort::Target target;
  target.device = *device;
  target.ep = std::move(ep);
  target.provider_options = request.provider_options;
  return target;
}

// The source is out of reach of what is opened: the result stands alone in its folder, and nothing may be compiled.
Result<ort::OpenedSession> open_alone(ort::Catalog& catalog, const ort::Target& target, ort::SessionSettings settings,
                                      const std::filesystem::path& compiled) {
  settings.optimization_level.reset();
  return ort::open_session(catalog, target, settings, {.model = compiled, .compiled = true});
}

// The session stays open: an EP that crashes while unloading cannot change the outcome.
Result<void> compile_and_open(ort::Catalog& catalog, const ort::Target& target, const ort::SessionSettings& settings,
                              const WorkerRequest& request) {
  util::Stopwatch watch;
  if (request.action == WorkerAction::compile) {
    PRECAST_TRY(ort::compile_model(catalog, target, settings, {request.model, request.output, request.embed}));
    report_time(WorkerEventKind::compiled, watch.lap_ms());
  }
  PRECAST_TRY_ASSIGN(auto opened, open_alone(catalog, target, settings, request.output));
  auto* const session = new ort::OpenedSession(std::move(opened));
  report_time(WorkerEventKind::checked, watch.lap_ms());
  if (request.action == WorkerAction::validate) {
    WorkerEvent validated;
    validated.kind = WorkerEventKind::validated;
    PRECAST_TRY_ASSIGN(validated.message, compare_with_source(catalog, session->session, settings, request.model));
    validated.ms = watch.lap_ms();
    report(validated);
  }
  return {};
}

Result<void> compile_sharing(ort::Catalog& catalog, const ort::Target& target, const ort::SessionSettings& settings,
                             const WorkerRequest& request) {
  util::Stopwatch watch;
  std::vector<ort::CompileCall> calls;
  calls.reserve(request.sharing.size());
  for (const SharingModel& one : request.sharing) calls.push_back({.model = one.model, .output = one.output});
  PRECAST_TRY(ort::compile_sharing_models(catalog, target, settings, calls));
  report_time(WorkerEventKind::compiled, watch.lap_ms());
  if (!request.open_sharing) return {};
  for (const SharingModel& one : request.sharing) {
    PRECAST_TRY_ASSIGN(auto opened, open_alone(catalog, target, settings, one.output));
    (void)new ort::OpenedSession(std::move(opened));
  }
  report_time(WorkerEventKind::checked, watch.lap_ms());
  return {};
}

Result<void> serve(const WorkerRequest& request) {
  util::Stopwatch watch;
  PRECAST_TRY_ASSIGN(
      auto runtime,
      ort::Runtime::load({.library = request.ort_library, .executable_directory = {}, .assume_cpu_vendor = {}}));
  // ORT's and the EP's own words belong into compile.log.
  (void)runtime->add_log_sink([](const ort::LogLine& line) {
    const std::string text = line.category + " " + line.location + ": " + line.message + "\n";
    std::fputs(text.c_str(), stderr);
  });
  ort::Catalog catalog(runtime,
                       {{request.ep_name, request.ep_source, request.ep_library, ort::find_ep(request.ep_name)}});
  PRECAST_TRY_ASSIGN(const auto target, bind(catalog, request));
  WorkerEvent ready;
  ready.kind = WorkerEventKind::ready;
  ready.ms = watch.lap_ms();
  ready.ort_version = runtime->version();
  ready.ort_build = runtime->build_info();
  ready.ep_version = target.ep.version;
  ready.ep_vendor = target.ep.vendor;
  ready.device = target.device;
  report(ready);

  const ort::SessionSettings settings{
      .config_entries = request.session_config,
      .optimization_level = request.optimization_level,
      .free_dimensions = request.free_dimensions,
      .base = nullptr,
  };
  if (request.action == WorkerAction::compile_sharing) {
    PRECAST_TRY(compile_sharing(catalog, target, settings, request));
  } else {
    PRECAST_TRY(compile_and_open(catalog, target, settings, request));
  }
  WorkerEvent done;
  done.kind = WorkerEventKind::done;
  done.libraries = mapped_libraries();
  report(done);
  std::fflush(stderr);
  ::_exit(0);
}

int work() {
  const auto request = read_request();
  const Result<void> served = request ? serve(*request) : Result<void>(std::unexpected(request.error()));
  if (served) return 0;
  WorkerEvent failed;
  failed.kind = WorkerEventKind::failed;
  failed.code = served.error().code;
  failed.message = served.error().message;
  failed.hint = served.error().hint;
  report(failed);
  std::fflush(stderr);
  return 1;
}

// Ends as the work process ended, without a second core file.
int end_like(int wait_status) {
  if (WIFEXITED(wait_status)) return WEXITSTATUS(wait_status);
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  const int signal = WTERMSIG(wait_status);
  ::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);  // the supervisor blocked some
  ::raise(signal);
  return 128 + signal;
}

}  // namespace

int worker_main(int argument_count, char** arguments) {
  if (argument_count > 1) {
    const std::string_view argument = arguments[1];
    if (argument == "--version") {
      std::puts("precast-worker " PRECAST_VERSION);
      return 0;
    }
    std::fprintf(stderr, "precast-worker: it takes no arguments (got '%s'); precast starts it\n", arguments[1]);
    return 2;
  }
  const process::SupervisedExit ended = process::supervise(kPipeDescriptor, work);
  return ended.parent_gone ? kSupervisorStopped : end_like(ended.wait_status);
}

}  // namespace precast::compile
