// A report in which everything was measured, and one in which nothing was.
#pragma once

#include "bench/genai_report.hpp"

namespace precast::bench {

inline RequestTiming sample_request(RequestKind kind, std::uint64_t index, double first_token_ms) {
  return {.kind = kind,
          .index = index,
          .prompt_tokens = 12,
          .generated_tokens = 3,
          .finish_reason = FinishReason::eos,
          .template_ms = 0.5,
          .tokenization_ms = 1.5,
          .generator_create_ms = 2,
          .prefill_ms = 24,
          .first_token_ms = first_token_ms,
          .decode_token_ms = {4, 6},
          .sequence_fetch_ms = 0.25,
          .detokenization_ms = 0.75};
}

inline GenaiReport full_genai_report() {
  constexpr std::uint64_t mib = 1ULL << 20U;
  const MemoryCheckpoints memory{.baseline = 100 * mib, .after_compile = 300 * mib, .after_inference = 250 * mib};
  GenaiReport report;
  report.benchmark_info = {.model_id = "phi, \"tiny\"",
                           .running_model_path = "/cache/bundle",
                           .bundle_dir = "/models/phi",
                           .ep = "openvino",
                           .device = "auto",
                           .effective_device = "npu",
                           .iterations = 2,
                           .warmup = 1,
                           .prompt = "two\nlines | a bar",
                           .context_length = 4096,
                           .timestamp = util::WallTime(std::chrono::seconds(1764520000))};
  report.load = {.session_load_ms = 1000.12345,
                 .ep_registration_ms = 10,
                 .bundle_prepare_ms = 500,
                 .native_load_ms = 20,
                 .config_create_ms = 1,
                 .model_create_ms = 450,
                 .tokenizer_create_ms = 19,
                 .weight_upload_estimate_ms = 7,
                 .weight_upload_estimate_source = "model creation",
                 .stages = {{"decoder", StageOutcome::compiled, std::nullopt, "ab12", 0.4},
                            {"embedding", StageOutcome::failed, "the EP crashed", std::nullopt, std::nullopt}}};
  report.requests = {sample_request(RequestKind::warmup, 0, 16), sample_request(RequestKind::timed, 0, 6),
                     sample_request(RequestKind::timed, 1, 8)};
  const MemoryPeaks peaks{.load = 400 * mib, .first_run = 350 * mib, .steady = 320 * mib, .workers = 900 * mib};
  report.memory = {.rss = memory, .peaks = peaks, .vram_local = memory, .vram_shared = memory};
  report.hw_monitor = {.monitor = "proc+npu",
                       .device_kind = "npu",
                       .cpu = {.mean_pct = 50, .process_mean_pct = 40, .peak_pct = 99.999, .sample_count = 20},
                       .ram = {.mean = 200.0 * mib, .used = 250 * mib, .peak = 320 * mib},
                       .adapter = AdapterUse{.mean_pct = 80, .peak_pct = 100, .sample_count = 20},
                       .running_time_ns = 1600000000};
  report.precast = {.version = "0.1.0",
                    .outcome = "compiled",
                    .reason = "not in the cache",
                    .key = "ab12",
                    .generation = "0c6ba3c4",
                    .compile_ms = 400};
  report.environment = {
      .os = "Linux", .cpu = "a CPU", .ort = "1.32.0", .genai = "0.18.0", .ep_version = "1.8.1", .driver = "32.0"};
  return report;
}

// A request that was given up before its first token, in a report without anything else.
inline GenaiReport bare_genai_report() {
  GenaiReport report;
  report.requests = {{.finish_reason = FinishReason::cancelled}};
  return report;
}

}  // namespace precast::bench
