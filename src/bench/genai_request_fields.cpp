#include "bench/genai_request_fields.hpp"

namespace precast::bench {
namespace {

using Timing = RequestTiming;
using Measured = std::optional<double> RequestTiming::*;
using Always = double RequestTiming::*;
using Derived = std::optional<double> RequestMetrics::*;
using DerivedAlways = double RequestMetrics::*;

FieldOf<Timing> measured(Field field, Measured member) {
  return {std::move(field), [member](const Timing& timing) { return to_value(timing.*member); }};
}
FieldOf<Timing> measured(Field field, Always member) {
  return {std::move(field), [member](const Timing& timing) { return Json(timing.*member); }};
}
FieldOf<Timing> derived(Field field, Derived member) {
  return {std::move(field), [member](const Timing& timing) { return to_value(metrics_of(timing).*member); }};
}
FieldOf<Timing> derived(Field field, DerivedAlways member) {
  return {std::move(field), [member](const Timing& timing) { return Json(metrics_of(timing).*member); }};
}

std::vector<RequestField> facts() {
  return {
      {{text("kind", "kind"), [](const Timing& t) { return Json(to_string(t.kind)); }}},
      {{count("index", "index"), [](const Timing& t) { return Json(t.index); }}},
      {{count("prompt_tokens", "prompt tokens"), [](const Timing& t) { return Json(t.prompt_tokens); }}},
      {{count("generated_tokens", "generated tokens"), [](const Timing& t) { return Json(t.generated_tokens); }}},
      {{text("finish_reason", "finish"), [](const Timing& t) { return Json(to_string(t.finish_reason)); }}},
  };
}

std::vector<RequestField> durations() {
  using M = RequestMetrics;
  return {
      {measured(duration("template_duration_ms", "template"), &Timing::template_ms)},
      {measured(duration("tokenization_duration_ms", "tokenization"), &Timing::tokenization_ms)},
      {measured(duration("generator_create_duration_ms", "create generator"), &Timing::generator_create_ms)},
      {measured(duration("prefill_duration_ms", "prefill", Shown::people), &Timing::prefill_ms), true},
      {measured(duration("first_token_duration_ms", "first token"), &Timing::first_token_ms)},
      {{{.path = "decode_token_durations_ms", .label = "later tokens", .kind = FieldKind::durations, .unit = "ms"},
        [](const Timing& t) { return Json(t.decode_token_ms); }}},
      {measured(duration("sequence_fetch_duration_ms", "sequence fetch"), &Timing::sequence_fetch_ms)},
      {measured(duration("detokenization_duration_ms", "detokenization"), &Timing::detokenization_ms)},
      {derived(duration("request_ttft_duration_ms", "request TTFT", Shown::people), &M::request_ttft_ms), true},
      {derived(duration("model_ttft_duration_ms", "model TTFT", Shown::headline), &M::model_ttft_ms), true},
      {derived(duration("response_eval_duration_ms", "response", Shown::people), &M::response_eval_ms), true},
      {derived(duration("model_compute_duration_ms", "model compute", Shown::people), &M::model_compute_ms), true},
      {derived(duration("request_duration_ms", "request", Shown::headline), &M::request_ms), true},
  };
}

std::vector<RequestField> rates() {
  using M = RequestMetrics;
  return {
      {derived(rate("prefill_tokens_per_second", "prefill", "tok/s", Shown::headline), &M::prefill_tokens_per_second),
       true},
      {derived(rate("steady_state_decode_tokens_per_second", "decode", "tok/s", Shown::headline),
               &M::steady_state_decode_tokens_per_second),
       true},
      {derived(rate("response_eval_tokens_per_second", "response", "tok/s", Shown::people),
               &M::response_eval_tokens_per_second),
       true},
      {derived(duration("steady_state_tpot_ms", "time per later token", Shown::headline), &M::steady_state_tpot_ms),
       true},
  };
}

}  // namespace

const std::vector<RequestField>& request_fields() {
  static const std::vector<RequestField> fields = [] {
    std::vector<RequestField> all = facts();
    for (const auto& part : {durations(), rates()}) all.insert(all.end(), part.begin(), part.end());
    return all;
  }();
  return fields;
}

}  // namespace precast::bench
