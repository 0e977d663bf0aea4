#include "genai/bundle_recipe.hpp"

#include "genai/bundle.hpp"
#include "util/try.hpp"

namespace precast::genai {

namespace {

namespace stdfs = std::filesystem;

constexpr std::uint32_t kFolderMode = 0700;

Result<stdfs::path> place(fs::FileSystem& fs, const stdfs::path& root, const stdfs::path& name) {
  stdfs::path to = root / name;
  PRECAST_TRY(fs::make_directories(fs, to.parent_path(), kFolderMode, fs::Durability::none));
  return to;
}

}  // namespace

Result<void> assemble(fs::FileSystem& fs, const BundleRecipe& recipe, const stdfs::path& root, StoredFiles stored) {
  PRECAST_TRY(fs.make_directory(root, kFolderMode));
  for (const BundleFile& file : recipe.files) {
    PRECAST_TRY_ASSIGN(const stdfs::path to, place(fs, root, file.name));
    PRECAST_TRY(fs.clone(file.from, to));
  }
  for (const StoredStage& stage : recipe.stages) {
    for (const store::Artifact& artifact : stage.artifacts) {
      PRECAST_TRY_ASSIGN(const stdfs::path to, place(fs, root, stage.place / artifact.path));
      const stdfs::path from = stage.folder / artifact.path;
      if (stored == StoredFiles::link && fs.link(from, to)) continue;
      PRECAST_TRY(fs.clone(from, to));
    }
  }
  return fs::write_file_atomically(fs, root / kConfigName, recipe.config, fs::Durability::none);
}

}  // namespace precast::genai
