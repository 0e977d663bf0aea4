// Reports of a model in which everything was measured, and in which nothing was; and a comparison.
#pragma once

#include "bench/ort_report.hpp"

namespace precast::bench {

inline CheckedOutput sample_output(const std::string& name, double cosine) {
  CheckedOutput output{.name = name, .difference = {}};
  output.difference.cosine = cosine;
  output.difference.max_abs = 1.25e-5;
  output.difference.max_rel = 0.001;
  output.difference.compared = 384;
  return output;
}

inline OpTrace sample_trace() {
  OpTrace trace;
  trace.total_ms = 20;
  trace.runs = 10;
  trace.by_type = {{"MatMul", "", "CPUExecutionProvider", 20, 15, 0.75, 75},
                   {"Add", "", "CPUExecutionProvider", 20, 5, 0.25, 25}};
  trace.by_node = {{"MatMul", "a \"node\"", "CPUExecutionProvider", 10, 15, 1.5, 75}};
  trace.by_provider = {{"CPUExecutionProvider", 40, 20, 100}};
  trace.inside_by_type = {{"FullyConnected", "", "OpenVINOExecutionProvider", 10, 3, 0.3, 100}};
  trace.inside_by_node = {{"FullyConnected", "OV::x", "OpenVINOExecutionProvider", 10, 3, 0.3, 100}};
  trace.inside_total_ms = 3;
  return trace;
}

inline OrtReport full_ort_report() {
  constexpr std::uint64_t mib = 1ULL << 20U;
  OrtReport report;
  report.benchmark_info = {.model_id = "mini|lm",
                           .model_path = "/models/mini|lm.onnx",
                           .running_model_path = "/store/model.onnx",
                           .requested_ep = "openvino",
                           .requested_device = "cpu",
                           .ep = "OpenVINOExecutionProvider",
                           .device = "cpu",
                           .ep_source = "pypi",
                           .ep_options = {{"precision", "f32"}, {"threads", "2"}},
                           .session_options = {{"session.intra_op.allow_spinning", "0"}},
                           .simulated = "soc_model 60",
                           .precision = "f32",
                           .compile = true,
                           .iterations = 4,
                           .warmup = 2,
                           .duration_s = 2.5,
                           .batch_size = 2,
                           .effective_batch_size = 2,
                           .concurrency = 2,
                           .input_data = "inputs.npz",
                           .timestamp = util::WallTime(std::chrono::seconds(1764520000))};
  report.model_info = {
      .inputs = {{.name = "ids", .dtype = "int64", .shape = {-1, 128}, .dimensions = {"batch", ""}},
                 {.name = "scale", .dtype = "float32", .shape = {}, .dimensions = {}}},
      .outputs = {{.name = "hidden", .dtype = "float32", .shape = {-1, 384}, .dimensions = {"batch", ""}}},
      .fed_shapes = {{2, 128}, {}},
      .precision = "w8"};
  report.phases = {.startup = 15.25,
                   .ep_registration = 12,
                   .identity = 1.5,
                   .lookup = 0.5,
                   .compile = 480,
                   .session_open = 70,
                   .ready = 600};
  report.set_times({.first_run_ms = 30,
                    .warmup_ms = {20, 22},
                    .caller_ms = {{10, 12}, {14, 12}},
                    .warmup_wall_ms = 42,
                    .steady_wall_ms = 25});
  report.provider_nodes = {{"CPUExecutionProvider", 3}, {"OpenVINOExecutionProvider", 1}};
  report.check = ModelCheck{.outputs = {sample_output("hidden", 0.9999)},
                            .expected_source = "test_data_set_0",
                            .expected_outputs = {sample_output("hidden", 0.5)}};
  report.op_tracing = OpTracing{.trace = sample_trace(), .top_k = 1};
  report.memory.rss = {.baseline = 100 * mib, .after_compile = 300 * mib, .after_inference = 250 * mib};
  report.memory.peaks = {.load = 320 * mib, .first_run = 310 * mib, .steady = 260 * mib, .workers = 500 * mib};
  report.hw_monitor = {
      .monitor = "proc", .device_kind = "cpu", .cpu = {50, 40, 90, 12}, .ram = {250.0 * mib, 240 * mib, 320 * mib}};
  report.precast = {.version = "0.1.0",
                    .outcome = "compiled",
                    .reason = "no entry",
                    .key = "ab",
                    .generation = "cd",
                    .compile_ms = 470};
  report.environment = {.os = "Linux", .cpu = "a CPU", .ort = "1.32.0", .ep_version = "1.8.1", .driver = "6.1"};
  return report;
}

// Two targets beside each other and one that could not be opened.
inline OrtComparison sample_comparison() {
  OrtReport fast = full_ort_report();
  fast.target = "openvino";
  OrtReport slow = full_ort_report();
  slow.target = "cpu";
  slow.set_times({.first_run_ms = 60,
                  .warmup_ms = {40},
                  .caller_ms = {{20, 24, 28, 24}},
                  .warmup_wall_ms = 80,
                  .steady_wall_ms = 130});
  OrtReport failed;
  failed.target = "qnn/npu";
  failed.benchmark_info = slow.benchmark_info;
  failed.benchmark_info.ep.reset();
  failed.benchmark_info.device.reset();
  failed.precast.version = "0.1.0";
  failed.error = Error{ErrorCode::ep_unavailable, "qnn has no \"npu\"", "/lib/qnn.so", "plug one in"};
  OrtComparison comparison{.targets = {fast, slow, failed}, .ratios = {}, .hw_monitor = fast.hw_monitor};
  comparison.ratios = compare_targets(comparison.targets, 1);
  return comparison;
}

}  // namespace precast::bench
