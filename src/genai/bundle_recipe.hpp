// What a prepared bundle is put together from.
#pragma once

#include <filesystem>
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

// How the stages' files get there: a second name of the store's own, where the file system has such, or a copy.
enum class StoredFiles : std::uint8_t { link, copy };

// Makes the folder `root`, if it is not there, with all of it; the user's files are reflinks or copies.
[[nodiscard]] Result<void> assemble(fs::FileSystem& fs, const BundleRecipe& recipe, const std::filesystem::path& root,
                                    StoredFiles stored);

}  // namespace precast::genai
