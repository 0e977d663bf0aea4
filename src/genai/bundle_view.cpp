#include "genai/bundle_view.hpp"

#include "util/try.hpp"

namespace precast::genai {

namespace {

constexpr std::uint32_t kFolderMode = 0700;

}  // namespace

Result<std::filesystem::path> make_view(fs::FileSystem& fs, const compile::WorkFolder& work,
                                        const std::filesystem::path& original, const std::string& config,
                                        const std::vector<ViewedStage>& stages) {
  std::filesystem::path view = work.output_folder() / "view";
  PRECAST_TRY(fs.make_directory(view, kFolderMode));
  PRECAST_TRY_ASSIGN(const auto entries, fs.list(original));
  const std::filesystem::path ours = *std::filesystem::path(kOriginalInView).begin();
  for (const fs::DirEntry& entry : entries) {
    if (entry.name == kConfigName || entry.name == ours) continue;
    PRECAST_TRY(fs.symlink(original / entry.name, view / entry.name));
  }
  PRECAST_TRY(fs.make_directory(view / ours, kFolderMode));
  PRECAST_TRY(fs.symlink(original, view / kOriginalInView));
  for (const ViewedStage& stage : stages) PRECAST_TRY(fs.symlink(stage.folder, view / stage.place));
  PRECAST_TRY(fs::write_file_atomically(fs, view / kConfigName, config, fs::Durability::none));
  return view;
}

}  // namespace precast::genai
