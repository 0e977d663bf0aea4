#include "bench/ort_measure.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "bench/environment.hpp"
#include "bench/memory_monitor.hpp"
#include "bench/ort_tracing.hpp"
#include "fs/file_system.hpp"
#include "identity/host.hpp"
#include "model/model_facts.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::bench {

namespace {

constexpr double kCheapOpenMs = 1000;
constexpr double kBusyPct = 20;

// What the provider options say of the numbers that the EP computes with.
std::optional<std::string> precision_asked_for(const ort::Target& target) {
  for (const char* key : {"precision", "enable_htp_fp16_precision"}) {
    const auto option = target.provider_options.find(key);
    if (option == target.provider_options.end()) continue;
    if (std::string_view(key) == "precision") return option->second;
    return option->second == "1" ? std::optional<std::string>("fp16") : std::nullopt;
  }
  return std::nullopt;
}

std::optional<std::string> simulated_machine(const ort::Target& target) {
  if (!target.simulated) return std::nullopt;
  std::string machine;
  if (!target.simulated->soc_model.empty()) machine = "soc_model " + target.simulated->soc_model;
  if (!target.simulated->htp_arch.empty()) {
    machine += (machine.empty() ? "htp_arch " : ", htp_arch ") + target.simulated->htp_arch;
  }
  return machine;
}

// Axis 0 of the first input that leaves it open; else what all inputs have there; else 1.
std::int64_t batch_of(const std::vector<TensorInfo>& declared, const tensor::Tensors& inputs) {
  std::optional<std::int64_t> common;
  bool differ = false;
  for (const TensorInfo& info : declared) {
    const auto fed = inputs.find(info.name);
    if (info.shape.empty() || fed == inputs.end() || fed->second.shape.empty()) continue;
    if (info.shape.front() < 0) return fed->second.shape.front();
    differ = differ || (common && *common != fed->second.shape.front());
    common = fed->second.shape.front();
  }
  return common && !differ ? *common : 1;
}

// Everything of one target while it is measured. The runs refer to the session and the inputs, and go first.
struct Lane {
  const OrtTarget* target = nullptr;
  OrtReport report;
  std::shared_ptr<session::PreparedSession> session;
  TargetRun run;
  MemoryMonitor memory;
};

class Measurement {
 public:
  Measurement(const OrtMeasureOptions& options, const OrtMeasureServices& services)
      : options_(options), services_(services), lanes_(options.targets.size()) {}

  Result<OrtMeasurement> measure() {
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      lanes_[i].target = &options_.targets[i];
      PRECAST_TRY(open_lane(lanes_[i]));
    }
    run_all();
    if (!services_.cancel.cancelled()) {
      if (options_.check) {
        if (auto checked = check_all(); !checked) result_.check_error = checked.error();
      }
      if (options_.op_tracing) trace_all();
    }
    for (Lane& lane : lanes_) result_.reports.push_back(std::move(lane.report));
    return std::move(result_);
  }

 private:
  [[nodiscard]] bool alone() const { return lanes_.size() == 1; }
  // Of several sessions in one process nobody can say whose the memory is.
  [[nodiscard]] bool measures_memory() const { return options_.memory && alone(); }

  // What takes long is said until it ends.
  class Step {
   public:
    Step(const OrtMeasureServices& services, const std::string& deed) : services_(services) {
      if (services_.on_step) services_.on_step(deed);
    }
    ~Step() {
      if (services_.on_step) services_.on_step({});
    }
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;

   private:
    const OrtMeasureServices& services_;
  };

  // What concerns one target alone is in its report; the error is everybody's.
  Result<void> open_lane(Lane& lane) {
    OrtReport& report = lane.report;
    report.target = lane.target->name;
    report.benchmark_info = lane.target->info;
    report.raw = options_.raw;
    report.precast.version = PRECAST_VERSION;
    report.environment.ort = services_.catalog.runtime().version();
    fill_environment(report.environment);
    if (measures_memory()) lane.memory.checkpoint(Checkpoint::baseline);
    auto opened = services_.open(*lane.target);
    if (!opened) {
      if (opened.error().code == ErrorCode::cancelled) return std::unexpected(opened.error());
      report.error = opened.error();
      return {};
    }
    lane.session = *opened;
    if (alone()) report.phases.ready = services_.since_start_ms();  // of a later one it would have those before in it
    fill_from_session(lane);
    if (auto placed = check_placement(*lane.session, lane.target->request); !placed) {
      report.error = placed.error();
      return {};
    }
    warn_of(lane);
    open_without_counts(lane);
    if (report.error) return {};
    if (measures_memory()) {
      lane.memory.phase_ends(PeakPhase::load);
      lane.memory.checkpoint(Checkpoint::after_compile);
    }
    return first_run(lane);
  }

  // A session that counted its nodes stays verbose, and an EP then logs at each run (OpenVINO: 7 us). Where opening is
  // cheap it is opened once more, so that what is measured has nothing of that; ORT's CPU EP logs nothing.
  void open_without_counts(Lane& lane) {
    session::PreparedSession& session = *lane.session;
    const bool built_in = session.resolution().target.ep.found.library.empty();
    if (built_in || session.provider_nodes().empty() || session.open_ms() > kCheapOpenMs) return;
    const Step step(services_, "opening " + lane.target->name + " once more, without counting nodes");
    if (auto again = session.reopen(services_.catalog, lane.target->request.session); !again) {
      lane.report.error = again.error();
    }
  }

  void fill_from_session(Lane& lane) {
    OrtReport& report = lane.report;
    const session::PreparedSession& session = *lane.session;
    const compile::Resolution& resolution = session.resolution();
    const ort::Target& target = resolution.target;
    OrtBenchmarkInfo& info = report.benchmark_info;
    info.running_model_path = if_any(resolution.path.native());
    info.ep = effective_ep(session);
    const bool moved = info.ep != target.ep.found.name;
    info.device = moved ? "cpu" : std::string(ort::to_string(target.device.device_class));
    info.ep_source = if_any(target.ep.found.source);
    info.ep_options = target.provider_options;
    info.simulated = simulated_machine(target);
    info.precision = precision_asked_for(target);
    report.provider_nodes = session.provider_nodes();
    report.environment.ep_version = if_any(target.ep.version);
    report.environment.driver = if_any(identity::driver_version(fs::FileSystem::posix(), target.device));
    fill_phases(report, session);
    report.precast.reason = if_any(resolution.reason);
    report.precast.outcome = to_string(resolution.outcome);
    if (!info.compile) {
      const bool may_compile = target.makes_ep_context() && resolution.outcome != compile::Outcome::precompiled;
      if (resolution.outcome != compile::Outcome::precompiled) report.precast.outcome = "original";
      if (may_compile)
        report.precast.reason = *report.precast.reason + ": " + *info.ep + " may have compiled it at load";
      return;
    }
    report.precast.key = if_any(resolution.key);
    report.precast.generation = if_any(resolution.generation);
    if (resolution.timings.compile > 0) report.precast.compile_ms = resolution.timings.compile;
  }

  void fill_phases(OrtReport& report, const session::PreparedSession& session) const {
    const compile::Timings& timings = session.resolution().timings;
    report.phases.startup = services_.startup_ms;
    report.phases.ep_registration = timings.ep_registration;
    report.phases.session_open = session.open_ms();
    if (!report.benchmark_info.compile) return;
    report.phases.identity = timings.identity;
    if (timings.lookup > 0) report.phases.lookup = timings.lookup;
    if (timings.compile > 0) {
      report.phases.compile = timings.worker_start + timings.compile + timings.check + timings.store;
    }
  }

  void warn_of(const Lane& lane) {
    const ort::Target& target = lane.session->resolution().target;
    const OrtBenchmarkInfo& info = lane.report.benchmark_info;
    if (info.simulated) {
      result_.warnings.push_back(target.ep.found.name + " simulates " + *info.simulated +
                                 " on this CPU: its times say nothing about that machine");
    }
    const auto own = lane.report.provider_nodes.find(target.ep.found.name);
    if (lane.report.provider_nodes.size() > 1 && own != lane.report.provider_nodes.end()) {
      std::uint64_t all = 0;
      for (const auto& [ep, nodes] : lane.report.provider_nodes) all += nodes;
      result_.warnings.push_back(fmt::format("{}: {} of {} nodes run on {}, the others elsewhere", lane.target->name,
                                             own->second, all, target.ep.found.name));
    }
    if (*info.ep != target.ep.found.name) {
      result_.warnings.push_back(target.ep.found.name + " got no node of " + util::quoted(lane.target->request.model) +
                                 ": all of it runs on " + *info.ep);
    }
  }

  Result<void> first_run(Lane& lane) {
    PRECAST_TRY_ASSIGN(lane.report.model_info.inputs, inputs_of(lane.session->native()));
    PRECAST_TRY_ASSIGN(lane.report.model_info.outputs, outputs_of(lane.session->native()));
    const std::filesystem::path source = source_of(lane.session->resolution(), lane.target->request);
    if (options_.check) PRECAST_TRY(require_source(source, lane.target->request.model));
    if (!inputs_) {
      PRECAST_TRY_ASSIGN(inputs_, make_inputs(options_.input, lane.report.model_info.inputs, source));
      source_ = source;
      if (!source.empty()) {
        PRECAST_TRY_ASSIGN(const auto facts, model::read_model(fs::FileSystem::posix(), source));
        precision_ = if_any(facts.weight_precision);
      }
    }
    lane.report.model_info.precision = precision_;
    lane.report.benchmark_info.effective_batch_size = batch_of(lane.report.model_info.inputs, *inputs_);
    for (const TensorInfo& input : lane.report.model_info.inputs) {
      const auto fed = inputs_->find(input.name);
      if (fed != inputs_->end()) lane.report.model_info.fed_shapes.push_back(fed->second.shape);
    }
    lane.run.name = lane.target->name;
    for (std::size_t i = 0; i < options_.concurrency; ++i) {
      auto run = ort::BoundRun::make(lane.session->native(), *inputs_, options_.io_binding,
                                     "a run on " + lane.run.name + " failed");
      if (!run && run.error().code == ErrorCode::bad_input) return std::unexpected(run.error());
      if (!run) {
        lane.report.error = run.error();
        return {};
      }
      lane.run.callers.push_back(std::move(*run));
    }
    {
      const Step step(services_, "the first run on " + lane.run.name);
      run_first(lane.run);
    }
    lane.report.error = lane.run.error;
    if (lane.report.error && lane.report.error->hint.empty()) {
      lane.report.error->hint =
          "are these sizes and values that the model takes? see --dim, --value-range, --input-data";
    }
    if (measures_memory()) lane.memory.phase_ends(PeakPhase::first_run);
    return {};
  }

  void run_all() {
    std::vector<TargetRun*> runs;
    for (Lane& lane : lanes_) {
      if (!lane.report.error) runs.push_back(&lane.run);
    }
    if (runs.empty()) return;
    HwMonitor monitor;
    if (options_.monitor) monitor.start();
    if (options_.concurrency > 1) {
      run_callers(*runs.front(), options_.plan, services_.cancel, services_.on_round);
    } else {
      run_rounds(runs, options_.plan, services_.cancel, services_.on_round);
    }
    monitor.stop();
    for (Lane& lane : lanes_) finish(lane);
    if (!options_.monitor) return;
    HwMonitorSection seen =
        monitor.section(alone() ? lanes_.front().report.benchmark_info.device : std::nullopt, own_peak());
    warn_of_others(seen.cpu);
    (alone() ? lanes_.front().report.hw_monitor : result_.hw_monitor) = std::move(seen);
  }

  void warn_of_others(const CpuUse& cpu) {
    const double others = cpu.mean_pct.value_or(0) - cpu.process_mean_pct.value_or(0);
    if (others < kBusyPct) return;
    result_.warnings.push_back(
        fmt::format("other programs used {:.0f} % of the processors meanwhile: the numbers are worth less", others));
  }

  // Each target's monitor has seen the peaks of its own phases alone.
  [[nodiscard]] std::optional<std::uint64_t> own_peak() const {
    std::optional<std::uint64_t> peak;
    for (const Lane& lane : lanes_) peak = std::max(peak, lane.memory.own_peak());
    return peak;
  }

  void finish(Lane& lane) {
    OrtReport& report = lane.report;
    if (!report.error) report.error = lane.run.error;
    report.set_times(std::move(lane.run.times));
    report.interrupted = services_.cancel.cancelled() && !is_complete(report);
    if (!measures_memory()) return;
    if (report.latency.n > 0) lane.memory.phase_ends(PeakPhase::steady);
    lane.memory.checkpoint(Checkpoint::after_inference);
    report.memory = lane.memory.section();
  }

  [[nodiscard]] bool is_complete(const OrtReport& report) const {
    if (options_.plan.iterations) return report.latency.n >= *options_.plan.iterations;
    const auto ms = std::chrono::duration<double, std::milli>(*options_.plan.duration).count();
    return report.times.steady_wall_ms.value_or(0) >= ms;
  }

  Result<void> check_all() {
    if (!inputs_) return {};
    const Step step(services_, "checking the outputs against ONNX Runtime's CPU EP");
    PRECAST_TRY_ASSIGN(const auto references,
                       References::make(services_.catalog, source_, options_.targets.front().request.session, *inputs_,
                                        options_.input.data));
    for (Lane& lane : lanes_) {
      if (lane.report.error) continue;
      PRECAST_TRY_ASSIGN(const auto outputs, lane.run.callers.front().outputs());
      lane.report.check = references.check(outputs);
      if (lane.report.check->not_compared.empty()) continue;
      result_.warnings.push_back(lane.target->name + ": not checked, for they are no tensors: " +
                                 util::listed_quoted(lane.report.check->not_compared));
    }
    return {};
  }

  void trace_all() {
    for (Lane& lane : lanes_) {
      if (lane.report.error) continue;
      const Step step(services_, "tracing the operators of " + lane.target->name);
      lane.run.callers.clear();  // they refer to the native session, which is opened anew
      auto trace =
          trace_operators(services_.catalog, *lane.session, lane.target->request.session, *inputs_, services_.cancel);
      if (trace) {
        if (trace->dropped_events > 0) {
          result_.warnings.push_back(lane.target->name +
                                     ": ONNX Runtime kept only the first million events of its profile");
        }
        lane.report.op_tracing = OpTracing{std::move(*trace), options_.top_k};
      } else if (!result_.tracing_error) {
        result_.tracing_error = trace.error();
      }
    }
  }

  const OrtMeasureOptions& options_;
  const OrtMeasureServices& services_;
  OrtMeasurement result_;
  std::optional<tensor::Tensors> inputs_;  // the same for all
  std::filesystem::path source_;
  std::optional<std::string> precision_;  // of its weights
  std::vector<Lane> lanes_;               // declared last: their runs refer to the inputs
};

}  // namespace

Result<OrtMeasurement> measure_model(const OrtMeasureOptions& options, const OrtMeasureServices& services) {
  return Measurement(options, services).measure();
}

}  // namespace precast::bench
