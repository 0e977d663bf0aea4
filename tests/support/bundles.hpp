// Bundles for tests: made by the maker or copied from .deps, in a folder of the test's own, with a configuration that
// the test may change. Programs that use this define PRECAST_DEPS_DIR and PRECAST_SOURCE_DIR.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/program.hpp"

namespace precast::testing {

// What tools/make_genai_bundle.py's tiny bundle answers to the raw prompt "hello the world".
inline const std::vector<int>& tiny_tokens() {
  static const std::vector<int> tokens{59, 95, 57, 266, 81, 59, 105, 48, 87, 62, 42, 38, 86, 129, 88, 106};
  return tokens;
}

inline std::filesystem::path stored_bundle(const std::string& name) {
  return std::filesystem::path(PRECAST_DEPS_DIR) / "bundles" / name;
}

// A copy of a bundle of .deps at `folder`.
inline std::filesystem::path copy_bundle(const std::string& name, const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder.parent_path());
  std::filesystem::copy(stored_bundle(name), folder, std::filesystem::copy_options::recursive);
  return folder;
}

// One as the maker makes it with these options.
inline std::filesystem::path make_bundle(const std::filesystem::path& folder, std::vector<std::string> options) {
  const std::filesystem::path source = PRECAST_SOURCE_DIR;
  options.insert(options.begin(), {(source / "tools/make_genai_bundle.py").native(), folder.native(), "--tiny"});
  Running maker(folder.parent_path(), (source / "tools/python").native(), std::move(options),
                {{"PRECAST_DEPS_DIR", PRECAST_DEPS_DIR}, {"PYTHONDONTWRITEBYTECODE", "1"}});
  const Ran ran = maker.wait(std::chrono::seconds(60));
  EXPECT_EQ(ran.code, 0) << ran.err;
  return folder;
}

inline nlohmann::ordered_json read_config(const std::filesystem::path& bundle) {
  return nlohmann::ordered_json::parse(read_file(bundle / "genai_config.json"));
}
inline void write_config(const std::filesystem::path& bundle, const nlohmann::ordered_json& config) {
  write_file(bundle / "genai_config.json", config.dump(2));
}

// Gives a stage of a pipeline one EP with these options.
inline void give_ep(const std::filesystem::path& bundle, const std::string& stage, const std::string& ep,
                    const std::map<std::string, std::string>& options) {
  nlohmann::ordered_json config = read_config(bundle);
  for (nlohmann::ordered_json& element : config["model"]["decoder"]["pipeline"]) {
    if (!element.contains(stage)) continue;
    const nlohmann::ordered_json provider{{ep, options}};
    element[stage]["session_options"] = {{"log_id", stage}, {"provider_options", {provider}}};
  }
  write_config(bundle, config);
}

// The arguments of a greedy answer to "hello the world" whose tokens are tiny_tokens().
inline std::vector<std::string> hello(const std::filesystem::path& bundle, std::vector<std::string> more = {}) {
  std::vector<std::string> arguments{
      "generate", bundle.native(), "--no-apply-template", "-p", "hello the world", "--max-new-tokens", "16"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

inline std::vector<int> tokens_of(const nlohmann::json& document) {
  return document.value("token_ids", std::vector<int>());
}

// Stage -> outcome, of generate's or compile's document.
inline std::map<std::string, std::string> outcomes_of(const nlohmann::json& document) {
  std::map<std::string, std::string> outcomes;
  for (const auto& stage : document.value("stages", nlohmann::json::array())) {
    outcomes[stage.value("name", "")] = stage.value("outcome", "");
  }
  for (const auto& stage : document.value("results", nlohmann::json::array())) {
    outcomes[stage.value("stage", "")] = stage.value("outcome", "");
  }
  return outcomes;
}

inline nlohmann::json stage_of(const nlohmann::json& document, const std::string& name) {
  for (const char* list : {"stages", "results"}) {
    for (const auto& stage : document.value(list, nlohmann::json::array())) {
      if (stage.value("name", "") == name || stage.value("stage", "") == name) return stage;
    }
  }
  ADD_FAILURE() << "no stage '" << name << "' in " << document.dump(2);
  return nlohmann::json::object();
}

}  // namespace precast::testing
