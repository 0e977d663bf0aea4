#include "cli/result_json.hpp"

#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "util/text.hpp"

namespace precast::cli {

using nlohmann::json;

namespace {

json text_or_null(const std::string& text) {
  return text.empty() ? json(nullptr) : json(util::escape_invalid_utf8(text));
}

// Microseconds are as much as the clock is worth.
double rounded(double ms) {
  return std::round(ms * 1000) / 1000;
}

// Of what loads: the level at which it was compiled, or ORT's default for a source.
json level_json(const compile::Resolution& resolution) {
  if (resolution.outcome == compile::Outcome::precompiled) return nullptr;
  return resolution.compiled_model() ? text_or_null(resolution.compile_level) : json("all");
}

json target_json(const ort::Target& target) {
  if (!target.simulated) return nullptr;
  return {{"soc_model", text_or_null(target.simulated->soc_model)},
          {"htp_arch", text_or_null(target.simulated->htp_arch)},
          {"simulated", true}};
}

}  // namespace

std::string path_text(const std::filesystem::path& path) {
  return util::escape_invalid_utf8(path.native());
}

std::string details(const compile::Resolution& resolution) {
  const compile::Timings& t = resolution.timings;
  std::string text = resolution.key.empty() ? "no key" : "key " + resolution.key;
  if (!resolution.generation.empty()) text += ", generation " + resolution.generation;
  text += "; ms:";
  const std::pair<const char*, double> parts[] = {{"EP registration", t.ep_registration},
                                                  {"identity", t.identity},
                                                  {"look-up", t.lookup},
                                                  {"waiting", t.lock_wait},
                                                  {"worker", t.worker_start},
                                                  {"compile", t.compile},
                                                  {"check", t.check},
                                                  {"store", t.store}};
  for (const auto& [name, ms] : parts) text += fmt::format(" {} {:.1f}", name, ms);
  return text;
}

json document(const std::string& command) {
  return {{"schema_version", 1}, {"precast_version", PRECAST_VERSION}, {"command", command}};
}

json to_json(const Error& error) {
  return {{"code", std::string(to_string(error.code))},
          {"message", util::escape_invalid_utf8(error.message)},
          {"path", error.path.empty() ? json(nullptr) : json(path_text(error.path))},
          {"hint", text_or_null(error.hint)}};
}

json to_json(const compile::Resolution& resolution, const CommandTimings& timings,
             const std::filesystem::path& published) {
  json artifacts = json::array();
  for (const store::Artifact& artifact : resolution.artifacts) {
    artifacts.push_back({{"path", artifact.path}, {"size", artifact.size}, {"sha256", artifact.sha256}});
  }
  const compile::Timings& t = resolution.timings;
  const ort::Target& target = resolution.target;
  json result{{"outcome", std::string(compile::to_string(resolution.outcome))},
              {"reason", text_or_null(resolution.reason)},
              {"key", text_or_null(resolution.key)},
              {"generation", text_or_null(resolution.generation)},
              {"path", path_text(resolution.path)},
              {"published", published.empty() ? json(nullptr) : json(path_text(published))},
              {"ep", target.ep.found.name},
              {"ep_version", text_or_null(target.ep.version)},
              {"ep_source", target.ep.found.source},
              {"device", std::string(ort::to_string(target.device.device_class))},
              {"target", target_json(target)},
              {"artifacts", artifacts},
              {"optimization_level", level_json(resolution)},
              {"validation", text_or_null(resolution.validation)},
              {"timings_ms",
               {{"startup", rounded(timings.startup)},
                {"ep_registration", rounded(t.ep_registration)},
                {"identity", rounded(t.identity)},
                {"lookup", rounded(t.lookup)},
                {"lock_wait", rounded(t.lock_wait)},
                {"worker_start", rounded(t.worker_start)},
                {"compile", rounded(t.compile)},
                {"check", rounded(t.check)},
                {"store", rounded(t.store)},
                {"sync", rounded(t.sync)},
                {"publish", rounded(timings.publish)},
                {"session_open", rounded(timings.session_open)},
                {"total", rounded(timings.total)}}}};
  if (timings.run) result["timings_ms"]["run"] = rounded(*timings.run);
  return result;
}

json to_json(const store::Entry& entry) {
  return {{"key", entry.marker.key},         {"generation", entry.marker.generation},
          {"model", entry.marker.model},     {"ep", entry.marker.ep},
          {"device", entry.marker.device},   {"bytes", entry.bytes},
          {"created", entry.marker.created}, {"last_used", text_or_null(entry.last_used)}};
}

}  // namespace precast::cli
