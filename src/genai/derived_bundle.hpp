// A prepared bundle in the store: the original with other stage models and another configuration, complete or absent.
//
// Its key is made of the configuration, the keys and generations of the stages, and the name and SHA-256 of every other
// file. The user's files are reflinks or copies, the stages' files are second names of the store's, so it stays whole
// when a stage's generation goes.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "genai/bundle_files.hpp"
#include "store/store.hpp"

namespace precast::genai {

// A compiled stage; its generation's lease is the caller's.
struct StoredStage {
  std::filesystem::path place;   // its folder in the bundle: "precast/1-context"
  std::filesystem::path folder;  // its generation's
  std::string key;
  std::string generation;
  std::vector<store::Artifact> artifacts;
};

struct BundleRecipe {
  std::filesystem::path original;  // the bundle's folder, absolute
  std::string config;              // of genai_config.json
  std::vector<StoredStage> stages;
  std::vector<BundleFile> files;  // the rest, without genai_config.json
  std::string ep;                 // for people: of the first compiled stage
  std::string device;             // cpu, gpu, npu
};

struct DerivedBundle {
  store::Hit hit;                // with its lease
  std::filesystem::path folder;  // what genai loads
  bool made = false;             // now; else it was there
};

// With everything there already: no byte of a model is hashed and nothing is copied or written. A file that keeps
// changing while it is copied: busy. `before_commit` is called when all files are in place and nothing is yet found.
[[nodiscard]] Result<DerivedBundle> derive_bundle(store::Store& store, const BundleRecipe& recipe,
                                                  const fs::Lock::WaitOptions& wait,
                                                  const std::function<void()>& before_copy = {});

}  // namespace precast::genai
