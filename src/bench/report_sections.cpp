#include "bench/report_sections.hpp"

#include <algorithm>
#include <iterator>

#include "bench/statistics.hpp"
#include "util/text.hpp"

namespace precast::bench {
namespace {

using Bytes = std::optional<std::uint64_t>;
constexpr double kBytesPerMb = 1024.0 * 1024.0;

Json in_mb(const Bytes& bytes) {
  return bytes ? Json(static_cast<double>(*bytes) / kBytesPerMb) : Json();
}

Json difference_mb(const Bytes& from, const Bytes& to) {
  if (!from || !to) return {};
  return (static_cast<double>(*to) - static_cast<double>(*from)) / kBytesPerMb;
}

// The largest of those that were taken: nullopt is less than any number.
Bytes peak(const MemoryCheckpoints& taken) {
  return std::max({taken.baseline, taken.after_compile, taken.after_inference});
}

Fields<MemoryCheckpoints> checkpoint_fields(const std::string& kind, const std::string& label, Shown shown,
                                            Shown peak_shown) {
  using Taken = MemoryCheckpoints;
  return {
      {megabytes(kind + "_baseline_mb", label + " at start", shown), [](const Taken& m) { return in_mb(m.baseline); }},
      {megabytes(kind + "_after_compile_mb", label + " when loaded", shown),
       [](const Taken& m) { return in_mb(m.after_compile); }},
      {megabytes(kind + "_after_inference_mb", label + " at the end", shown),
       [](const Taken& m) { return in_mb(m.after_inference); }},
      {megabytes(kind + "_checkpoint_peak_mb", label + ", the highest of these", peak_shown),
       [](const Taken& m) { return in_mb(peak(m)); }},
      {megabytes(kind + "_model_load_delta_mb", label + " taken by the model", shown),
       [](const Taken& m) { return difference_mb(m.baseline, m.after_compile); }},
      {megabytes(kind + "_inference_delta_mb", label + " taken by running it", shown),
       [](const Taken& m) { return difference_mb(m.after_compile, m.after_inference); }},
      {megabytes(kind + "_total_delta_mb", label + " taken in all"),
       [](const Taken& m) { return difference_mb(m.baseline, m.after_inference); }},
  };
}

// Checkpoints of one kind stand directly in `memory`: their names tell them apart.
void append(Fields<MemorySection>& into, const Fields<MemoryCheckpoints>& fields,
            MemoryCheckpoints MemorySection::* member) {
  for (const auto& one : fields) {
    into.push_back({one.field, [get = one.get, member](const MemorySection& memory) { return get(memory.*member); }});
  }
}

Fields<MemorySection> peak_fields() {
  using Memory = MemorySection;
  return {
      {megabytes("rss_peak_load_mb", "RSS peak, loading", Shown::people),
       [](const Memory& m) { return in_mb(m.peaks.load); }},
      {megabytes("rss_peak_first_run_mb", "RSS peak, first run", Shown::people),
       [](const Memory& m) { return in_mb(m.peaks.first_run); }},
      {megabytes("rss_peak_steady_mb", "RSS peak, steady state", Shown::headline),
       [](const Memory& m) { return in_mb(m.peaks.steady); }},
      {megabytes("rss_peak_workers_mb", "RSS peak of a compile worker", Shown::people),
       [](const Memory& m) { return in_mb(m.peaks.workers); }},
  };
}

Fields<CpuUse> cpu_fields() {
  return {
      {percent("mean_pct", "CPU, of all cores", Shown::people), [](const CpuUse& c) { return to_value(c.mean_pct); }},
      {percent("process_mean_pct", "of it precast", Shown::people),
       [](const CpuUse& c) { return to_value(c.process_mean_pct); }},
      {percent("peak_pct", "CPU peak", Shown::people), [](const CpuUse& c) { return to_value(c.peak_pct); }},
      {count("sample_count", "CPU samples"), [](const CpuUse& c) { return Json(c.sample_count); }},
  };
}

Fields<RamUse> ram_fields() {
  return {
      {megabytes("mean_mb", "RSS mean", Shown::people),
       [](const RamUse& r) { return r.mean ? Json(*r.mean / kBytesPerMb) : Json(); }},
      {megabytes("used_mb", "RSS last"), [](const RamUse& r) { return in_mb(r.used); }},
      {megabytes("peak_mb", "RSS peak", Shown::people), [](const RamUse& r) { return in_mb(r.peak); }},
  };
}

Fields<AdapterUse> adapter_fields() {
  return {
      {percent("mean_pct", "accelerator", Shown::people), [](const AdapterUse& a) { return to_value(a.mean_pct); }},
      {percent("peak_pct", "accelerator peak", Shown::people),
       [](const AdapterUse& a) { return to_value(a.peak_pct); }},
      {count("sample_count", "accelerator samples"), [](const AdapterUse& a) { return Json(a.sample_count); }},
  };
}

}  // namespace

std::optional<std::string> if_any(const std::string& text) {
  if (text.empty()) return std::nullopt;
  return util::escape_invalid_utf8(text);
}

Fields<MemorySection> memory_fields() {
  Fields<MemorySection> fields;
  append(fields, checkpoint_fields("rss", "RSS", Shown::people, Shown::people), &MemorySection::rss);
  std::ranges::copy(peak_fields(), std::back_inserter(fields));
  append(fields, checkpoint_fields("vram_local", "VRAM", Shown::people, Shown::people), &MemorySection::vram_local);
  append(fields, checkpoint_fields("vram_shared", "shared VRAM", Shown::data, Shown::data),
         &MemorySection::vram_shared);
  return fields;
}

Fields<HwMonitorSection> hw_monitor_fields() {
  using Hw = HwMonitorSection;
  Fields<Hw> fields = {
      {text("monitor", "source"), [](const Hw& hw) { return to_value(hw.monitor); }},
      {text("device_kind", "device"), [](const Hw& hw) { return to_value(hw.device_kind); }},
  };
  embed(fields, "cpu", "", cpu_fields(), &Hw::cpu);
  embed(fields, "ram", "", ram_fields(), &Hw::ram);
  embed_optional(fields, "adapter", adapter_fields(), &Hw::adapter);
  // No kernel interface gives an accelerator's memory in a way that holds for every driver.
  fields.push_back({megabytes("device_memory", "device memory"), [](const Hw&) { return Json(); }});
  fields.push_back(
      {count("running_time_ns", "accelerator busy time"), [](const Hw& hw) { return to_value(hw.running_time_ns); }});
  return fields;
}

Fields<PrecastSection> precast_fields() {
  using Precast = PrecastSection;
  return {
      {text("version", "precast"), [](const Precast& p) { return Json(p.version); }},
      {text("outcome", "outcome", Shown::headline), [](const Precast& p) { return to_value(p.outcome); }},
      {text("reason", "reason", Shown::people), [](const Precast& p) { return to_value(p.reason); }},
      {text("key", "key"), [](const Precast& p) { return to_value(p.key); }},
      {text("generation", "generation"), [](const Precast& p) { return to_value(p.generation); }},
      {duration("compile_ms", "compile", Shown::people), [](const Precast& p) { return to_value(p.compile_ms); }},
  };
}

Fields<EnvironmentSection> environment_fields() {
  using Environment = EnvironmentSection;
  return {
      {text("os", "system", Shown::people), [](const Environment& e) { return to_value(e.os); }},
      {text("cpu", "CPU", Shown::people), [](const Environment& e) { return to_value(e.cpu); }},
      {text("ort", "ONNX Runtime", Shown::people), [](const Environment& e) { return to_value(e.ort); }},
      {text("genai", "onnxruntime-genai", Shown::people), [](const Environment& e) { return to_value(e.genai); }},
      {text("ep_version", "EP version", Shown::people), [](const Environment& e) { return to_value(e.ep_version); }},
      {text("driver", "driver", Shown::people), [](const Environment& e) { return to_value(e.driver); }},
  };
}

Fields<MethodSection> method_fields() {
  using Method = MethodSection;
  return {
      {text("interrupted", "interrupted", Shown::headline), [](const Method& m) { return to_value(m.interrupted); }},
      {text("percentiles", "percentiles", Shown::people), [](const Method&) { return Json(kPercentileMethod); }},
      {count("n", "measured", Shown::people), [](const Method& m) { return Json(m.n); }},
      {count("warmup", "warm-ups", Shown::people), [](const Method& m) { return Json(m.warmup); }},
      {text("clock", "clock"), [](const Method& m) { return Json(m.clock); }},
      {text("note", "note", Shown::people),
       [](const Method& m) {
         const std::string note = too_few_note(m.n);
         return note.empty() ? Json() : Json(note);
       }},
  };
}

}  // namespace precast::bench
