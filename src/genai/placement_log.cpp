#include "genai/placement_log.hpp"

#include <nlohmann/json.hpp>

#include "ort/session_call.hpp"

namespace precast::genai {

namespace {

constexpr std::string_view kLoggerPrefix = "precast-stage-";

}  // namespace

std::string logging_overlay(const std::vector<std::string>& stages, bool pipeline, OrtLoggingLevel from) {
  if (stages.empty()) return {};
  nlohmann::json decoder;
  for (const std::string& stage : stages) {
    const nlohmann::json options{
        {"session_options",
         {{"log_id", std::string(kLoggerPrefix) + stage}, {"log_severity_level", static_cast<int>(from)}}}};
    if (pipeline) {
      decoder["pipeline"].push_back({{stage, options}});
    } else {
      decoder = options;
    }
  }
  return nlohmann::json{{"model", {{"decoder", decoder}}}}.dump();
}

PlacementLog::PlacementLog(ort::Runtime& runtime) : runtime_(runtime) {
  sink_ = runtime_.add_log_sink(
      [this](const ort::LogLine& line) {
        if (!line.logger.starts_with(kLoggerPrefix)) return;
        const std::scoped_lock lock(mutex_);
        last_stage_ = line.logger.substr(kLoggerPrefix.size());
        if (line.message.find("placed on [") != std::string::npos) lines_[last_stage_].push_back(line);
      },
      ORT_LOGGING_LEVEL_VERBOSE);
}

PlacementLog::~PlacementLog() {
  runtime_.remove_log_sink(sink_);
}

std::string PlacementLog::last_stage() const {
  const std::scoped_lock lock(mutex_);
  return last_stage_;
}

std::map<std::string, std::map<std::string, std::uint64_t>> PlacementLog::nodes() const {
  const std::scoped_lock lock(mutex_);
  std::map<std::string, std::map<std::string, std::uint64_t>> nodes;
  for (const auto& [stage, lines] : lines_) nodes[stage] = ort::parse_node_placement(lines);
  return nodes;
}

}  // namespace precast::genai
