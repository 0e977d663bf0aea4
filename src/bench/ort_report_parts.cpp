#include "bench/ort_report_parts.hpp"

#include <algorithm>

#include "util/text.hpp"

namespace precast::bench {
namespace {

using Info = OrtBenchmarkInfo;
using Report = OrtReport;

Json names_of(const std::vector<TensorInfo>& tensors) {
  Json names = Json::array();
  for (const TensorInfo& tensor : tensors) names.push_back(util::escape_invalid_utf8(tensor.name));
  return names;
}

Json types_of(const std::vector<TensorInfo>& tensors) {
  Json types = Json::array();
  for (const TensorInfo& tensor : tensors) types.push_back(tensor.dtype.empty() ? Json() : Json(tensor.dtype));
  return types;
}

Json shapes_of(const std::vector<TensorInfo>& tensors) {
  Json shapes = Json::array();
  for (const TensorInfo& tensor : tensors) {
    Json shape = Json::array();
    for (const std::int64_t size : tensor.shape) shape.push_back(size < 0 ? Json() : Json(size));
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

struct Caller {
  std::uint64_t index = 0;
  Summary summary;
};

std::vector<Caller> callers_of(const Report& report) {
  std::vector<Caller> callers;
  if (report.times.caller_ms.size() < 2) return callers;
  for (const auto& samples : report.times.caller_ms) callers.push_back({callers.size(), summarise(samples)});
  return callers;
}

Fields<CheckedOutput> checked_fields() {
  using Checked = CheckedOutput;
  const auto measured = [](std::string path, std::string label,
                           double tensor::Difference::* member) -> FieldOf<Checked> {
    return {number(std::move(path), std::move(label), Shown::people), [member](const Checked& one) {
              return one.difference.compared > 0 ? Json(one.difference.*member) : Json();
            }};
  };
  return {
      {text("name", "output", Shown::people), [](const Checked& c) { return Json(util::escape_invalid_utf8(c.name)); }},
      {flag("ok", "agrees", Shown::people), [](const Checked& c) { return Json(c.difference.agrees()); }},
      measured("cosine", "cosine", &tensor::Difference::cosine),
      measured("scale", "scale", &tensor::Difference::scale),
      measured("max_abs", "max abs", &tensor::Difference::max_abs),
      measured("max_rel", "max rel", &tensor::Difference::max_rel),
      {count("compared", "elements"), [](const Checked& c) { return Json(c.difference.compared); }},
      {count("not_finite", "not finite"), [](const Checked& c) { return Json(c.difference.not_finite); }},
      {text("reason", "reason", Shown::people), [](const Checked& c) {
         const std::string why = c.difference.why();
         return why.empty() ? Json() : Json(why);
       }}};
}

// `shares_only`: for people; an EP's own averages are no times.
Fields<OpTime> op_fields(bool with_node, bool shares_only) {
  const Shown time = shares_only ? Shown::data : Shown::people;
  Fields<OpTime> fields = {
      {text("op_type", "operator", Shown::people), [](const OpTime& op) { return Json(op.op_type); }}};
  if (with_node)
    fields.push_back({text("node", "node", Shown::people), [](const OpTime& op) { return Json(op.node); }});
  fields.push_back({text("provider", "provider", Shown::people), [](const OpTime& op) { return Json(op.provider); }});
  fields.push_back({count("count", "count", Shown::people), [](const OpTime& op) { return Json(op.count); }});
  fields.push_back({duration("total_ms", "total", time), [](const OpTime& op) { return Json(op.total_ms); }});
  fields.push_back({duration("mean_ms", "mean", time), [](const OpTime& op) { return Json(op.mean_ms); }});
  fields.push_back(
      {percent("share_pct", "share", Shown::people), [](const OpTime& op) { return to_value(op.share_pct); }});
  return fields;
}

Fields<ProviderTime> provider_fields() {
  return {{text("provider", "provider", Shown::people), [](const ProviderTime& p) { return Json(p.provider); }},
          {count("count", "count", Shown::people), [](const ProviderTime& p) { return Json(p.count); }},
          {duration("total_ms", "total", Shown::people), [](const ProviderTime& p) { return Json(p.total_ms); }},
          {percent("share_pct", "share", Shown::people), [](const ProviderTime& p) { return to_value(p.share_pct); }}};
}

std::vector<OpTime> first(const std::vector<OpTime>& ops, std::uint64_t count) {
  return {ops.begin(), ops.begin() + static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(count, ops.size()))};
}

Fields<OpTracing> tracing_fields() {
  using Tracing = OpTracing;
  const auto top = [](std::string path, std::string caption, bool with_node, bool inside,
                      std::vector<OpTime> OpTrace::* member) {
    auto field = rows<Tracing>(std::move(path), "", Shown::people, op_fields(with_node, inside),
                               [member](const Tracing& t) { return first(t.trace.*member, t.top_k); });
    field.field.caption = std::move(caption);
    return field;
  };
  auto by_provider = rows<Tracing>("by_provider", "", Shown::people, provider_fields(),
                                   [](const Tracing& t) { return t.trace.by_provider; });
  by_provider.field.caption = "by EP";
  return {{count("runs", "profiled runs", Shown::people), [](const Tracing& t) { return Json(t.trace.runs); }},
          {count("top_k", "most rows of each list"), [](const Tracing& t) { return Json(t.top_k); }},
          {duration("total_ms", "time in operators", Shown::people),
           [](const Tracing& t) { return Json(t.trace.total_ms); }},
          std::move(by_provider),
          top("by_type", "by operator", false, false, &OpTrace::by_type),
          top("by_node", "by node", true, false, &OpTrace::by_node),
          {duration("inside_total_ms", "inside compiled parts"),
           [](const Tracing& t) { return Json(t.trace.inside_total_ms); }},
          top("inside_by_type", "inside the compiled parts, by operator (the EP's own averages: shares only)", false,
              true, &OpTrace::inside_by_type),
          top("inside_by_node", "inside the compiled parts, by node (the same)", true, true, &OpTrace::inside_by_node),
          {count("without_time", "events without a time"), [](const Tracing& t) { return Json(t.trace.without_time); }},
          {count("dropped_events", "events that ORT dropped"),
           [](const Tracing& t) { return Json(t.trace.dropped_events); }}};
}

void put_in_section(Fields<Report>& fields, std::size_t from, const std::string& section) {
  for (std::size_t i = from; i < fields.size(); ++i) fields[i].field.section = section;
}

}  // namespace

Fields<ModelCheck> check_fields() {
  using Check = ModelCheck;
  auto outputs = rows<Check>("outputs", "", Shown::people, checked_fields(), &Check::outputs);
  outputs.field.caption = "against ONNX Runtime's CPU EP";
  auto expected = rows<Check>("expected_outputs", "", Shown::people, checked_fields(), &Check::expected_outputs);
  expected.field.caption = "against the expected outputs";
  return {
      {flag("ok", "outputs agree", Shown::headline), [](const Check& c) { return Json(c.ok()); }},
      {text("reference", "compared with", Shown::people), [](const Check&) { return Json("CPUExecutionProvider"); }},
      std::move(outputs),
      {text("expected_source", "and with the expected outputs of", Shown::people),
       [](const Check& c) {
         return c.expected_source ? Json(util::escape_invalid_utf8(c.expected_source->native())) : Json();
       }},
      std::move(expected)};
}

Fields<Info> benchmark_info_fields() {
  return {
      {text("runtime", "runtime"), [](const Info&) { return Json("ort"); }},
      {text("model_id", "model", Shown::headline), [](const Info& i) { return Json(i.model_id); }},
      {text("running_model_path", "opened", Shown::people),
       [](const Info& i) { return to_value(i.running_model_path); }},
      // Nothing in a model says what it is for.
      {text("task", "task"), [](const Info&) { return Json(); }},
      {text("model_path", "model file", Shown::people), [](const Info& i) { return Json(i.model_path); }},
      {text("requested_ep", "EP asked for", Shown::people), [](const Info& i) { return Json(i.requested_ep); }},
      {text("requested_device", "device asked for", Shown::people),
       [](const Info& i) { return Json(i.requested_device); }},
      {text("ep", "EP", Shown::headline), [](const Info& i) { return to_value(i.ep); }},
      {text("device", "device", Shown::headline), [](const Info& i) { return to_value(i.device); }},
      {text("ep_source", "EP's source", Shown::people), [](const Info& i) { return to_value(i.ep_source); }},
      {pairs("ep_options", "EP options", Shown::people), [](const Info& i) { return Json(i.ep_options); }},
      {pairs("session_options", "session options", Shown::people),
       [](const Info& i) { return Json(i.session_options); }},
      {text("simulated", "simulated", Shown::headline), [](const Info& i) { return to_value(i.simulated); }},
      {text("precision", "precision asked for", Shown::people), [](const Info& i) { return to_value(i.precision); }},
      {flag("compile", "compile"), [](const Info& i) { return Json(i.compile); }},
      {count("compile_timeout", "compile timeout (s)"), [](const Info& i) { return Json(i.compile_timeout_s); }},
      {flag("monitor", "monitor"), [](const Info& i) { return Json(i.monitor); }},
      {count("iterations", "iterations"), [](const Info& i) { return to_value(i.iterations); }},
      {count("warmup", "warm-up"), [](const Info& i) { return Json(i.warmup); }},
      {number("duration_sec", "duration (s)", Shown::people), [](const Info& i) { return to_value(i.duration_s); }},
      {count("batch_size", "batch size asked for"), [](const Info& i) { return Json(i.batch_size); }},
      {count("effective_batch_size", "batch size", Shown::headline),
       [](const Info& i) { return to_value(i.effective_batch_size); }},
      {count("concurrency", "callers", Shown::headline), [](const Info& i) { return Json(i.concurrency); }},
      {flag("io_binding", "I/O binding", Shown::people), [](const Info& i) { return Json(i.io_binding); }},
      {count("seed", "seed"), [](const Info& i) { return Json(i.seed); }},
      {text("input_data", "inputs from", Shown::people), [](const Info& i) { return to_value(i.input_data); }},
      {text("timestamp", "started", Shown::people),
       [](const Info& i) { return Json(util::format_rfc3339(i.timestamp)); }},
  };
}

Fields<OrtModelInfo> model_info_fields() {
  using Model = OrtModelInfo;
  return {
      {values("input_names", "inputs", Shown::people), [](const Model& m) { return names_of(m.inputs); }},
      {values("input_shapes", "shapes", Shown::people), [](const Model& m) { return shapes_of(m.inputs); }},
      {values("input_types", "types", Shown::people), [](const Model& m) { return types_of(m.inputs); }},
      {values("fed_shapes", "fed with", Shown::people), [](const Model& m) { return Json(m.fed_shapes); }},
      {values("output_names", "outputs", Shown::people), [](const Model& m) { return names_of(m.outputs); }},
      {values("output_shapes", "shapes", Shown::people), [](const Model& m) { return shapes_of(m.outputs); }},
      {values("output_types", "types"), [](const Model& m) { return types_of(m.outputs); }},
      {text("precision", "weights", Shown::people), [](const Model& m) { return to_value(m.precision); }},
  };
}

FieldOf<Report> callers_field() {
  Fields<Caller> fields = {{count("caller", "caller", Shown::people), [](const Caller& c) { return Json(c.index); }},
                           {count("n", "runs", Shown::people), [](const Caller& c) { return Json(c.summary.n); }}};
  for (const Statistic& statistic : kStatistics) {
    fields.push_back({duration(statistic.name, statistic.name, Shown::people),
                      [member = statistic.member](const Caller& c) { return to_value(c.summary.*member); }});
  }
  FieldOf<Report> field = rows<Report>("callers", "callers", Shown::people, fields, callers_of);
  field.field.section = "Latency";
  return field;
}

void append_phases(Fields<Report>& fields) {
  const std::size_t from = fields.size();
  const auto add = [&fields](const std::string& name, std::string label,
                             std::function<std::optional<double>(const Report&)> get) {
    fields.push_back({duration("phases_ms." + name, std::move(label), Shown::people),
                      [get = std::move(get)](const Report& report) { return to_value(get(report)); }});
  };
  add("startup", "load ONNX Runtime", [](const Report& r) { return r.phases.startup; });
  add("ep_registration", "register EP", [](const Report& r) { return r.phases.ep_registration; });
  add("identity", "identity", [](const Report& r) { return r.phases.identity; });
  add("lookup", "look-up", [](const Report& r) { return r.phases.lookup; });
  add("compile", "compile", [](const Report& r) { return r.phases.compile; });
  add("session_open", "open session", [](const Report& r) { return r.phases.session_open; });
  add("ready", "process start to ready", [](const Report& r) { return r.phases.ready; });
  add("first_run", "first run", [](const Report& r) { return r.times.first_run_ms; });
  add("warmup", "warm-up", [](const Report& r) { return r.times.warmup_wall_ms; });
  add("steady", "steady state", [](const Report& r) { return r.times.steady_wall_ms; });
  put_in_section(fields, from, "Phases");
}

void append_check(Fields<Report>& fields) {
  const std::size_t from = fields.size();
  embed_optional(fields, "check", check_fields(), &Report::check);
  put_in_section(fields, from, "Check");
}

void append_op_tracing(Fields<Report>& fields) {
  const std::size_t from = fields.size();
  embed_optional(fields, "op_tracing", tracing_fields(), &Report::op_tracing);
  put_in_section(fields, from, "Operators");
}

}  // namespace precast::bench
