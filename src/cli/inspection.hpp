// What `precast inspect` finds out about a model. Nothing of it is loaded but the facts; ONNX Runtime only for models
// with EPContext nodes that say what they are compatible with.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/context.hpp"
#include "model/model_facts.hpp"

namespace precast::cli {

// A file that the model refers to.
struct ReferredFile {
  std::string reference;  // as written in the model
  bool present = false;   // a regular file is there
  std::optional<std::uint64_t> size;
};

struct EpCompatibility {
  std::string ep;                             // `source` of the nodes
  std::optional<std::string> info;            // metadata "ep_compatibility_info.<EP>"
  std::optional<ort::Compatibility> verdict;  // of the EP here; never not_applicable
  std::string reason;                         // why there is no verdict
};

struct Inspection {
  std::filesystem::path path;  // absolute, links not resolved
  std::uint64_t size = 0;
  model::ModelFacts facts;
  std::vector<ReferredFile> external;                 // parallel to facts.external_files
  std::vector<std::optional<ReferredFile>> binaries;  // parallel to facts.ep_context_nodes; none: nothing to refer to
  std::vector<EpCompatibility> compatibility;         // one per EP that the EPContext nodes name
  std::vector<std::string> warnings;
};

// A bad model, external data outside its folder too: the error that compiling it would give. Data that is missing or
// too short is a warning.
[[nodiscard]] Result<Inspection> inspect_model(Context& context, const std::filesystem::path& model);

[[nodiscard]] std::string_view to_string(ort::Compatibility verdict);

}  // namespace precast::cli
