// A prepared bundle in the store: the original with other stage models and another configuration, complete or absent.
//
// Its key is made of the configuration, the keys and generations of the stages, and the name and SHA-256 of every other
// file. The user's files are reflinks or copies, the stages' files are second names of the store's, so it stays whole
// when a stage's generation goes.
#pragma once

#include <filesystem>
#include <functional>

#include "genai/bundle_recipe.hpp"
#include "store/store.hpp"

namespace precast::genai {

struct DerivedBundle {
  store::Hit hit;                // with its lease
  std::filesystem::path folder;  // what genai loads
  bool made = false;             // now; else it was there
};

// With everything there already: no byte of a model is hashed and nothing is copied or written. A file that keeps
// changing while it is copied: busy. `before_copy` is called before each
// attempt at copying (for tests of files that change).
[[nodiscard]] Result<DerivedBundle> derive_bundle(store::Store& store, const BundleRecipe& recipe,
                                                  const fs::Lock::WaitOptions& wait,
                                                  const std::function<void()>& before_copy = {});

}  // namespace precast::genai
