// Which EP got how many nodes of which stage, from ORT's own words while genai creates its sessions.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "ort/runtime.hpp"

namespace precast::genai {

// What has genai name the stage's sessions, and ORT say where nodes go; for OgaConfigOverlay. Empty: no stage is asked
// about. ORT then logs more at each run of those stages, too.
[[nodiscard]] std::string logging_overlay(const std::vector<std::string>& stages, bool pipeline,
                                          OrtLoggingLevel from = ORT_LOGGING_LEVEL_VERBOSE);

class PlacementLog {
 public:
  explicit PlacementLog(ort::Runtime& runtime);
  ~PlacementLog();
  PlacementLog(const PlacementLog&) = delete;
  PlacementLog& operator=(const PlacementLog&) = delete;
  // By stage, then EP.
  [[nodiscard]] std::map<std::string, std::map<std::string, std::uint64_t>> nodes() const;
  // The one that ORT spoke of last; empty: of none.
  [[nodiscard]] std::string last_stage() const;

 private:
  ort::Runtime& runtime_;
  int sink_ = 0;
  mutable std::mutex mutex_;
  std::map<std::string, std::vector<ort::LogLine>> lines_;
  std::string last_stage_;
};

}  // namespace precast::genai
