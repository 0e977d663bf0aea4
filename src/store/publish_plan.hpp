// What one publication puts where; for src/store only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/model_facts.hpp"
#include "model/rewrite_references.hpp"
#include "store/publish.hpp"

namespace precast::store {

struct PlannedFile {
  enum class Role : std::uint8_t { binary, sidecar, alias };
  Role role = Role::binary;
  std::string from;  // its name in the generation
  Artifact file;     // as published
};

struct PublishPlan {
  Artifact source;                   // the generation's model.onnx
  std::vector<PlannedFile> files;    // binaries, sidecars, then aliases
  model::ReferenceNames references;  // empty: the model is published as it is

  [[nodiscard]] std::vector<Artifact> published_files() const;
};

// From what the marker and the model say alone; nothing is looked up on disk.
[[nodiscard]] Result<PublishPlan> plan_publication(const PublishSource& source, const model::ModelFacts& facts,
                                                   const std::string& output_name, const std::string& binary_stem = {});

// "model_qnn.bin" for the output stem "net": "net_qnn".
[[nodiscard]] std::string alias_of(std::string_view binary, std::string_view output_stem);

}  // namespace precast::store
