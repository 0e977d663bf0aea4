#include "compile/staging.hpp"

#include <algorithm>

#include "util/try.hpp"

namespace precast::compile {

Result<std::filesystem::path> stage_source(fs::FileSystem& fs, const std::filesystem::path& model,
                                           std::optional<std::string_view> bytes, const model::ModelFacts& facts,
                                           const std::filesystem::path& folder) {
  PRECAST_TRY(fs::make_directories(fs, folder, 0700, fs::Durability::none));
  // A fixed short name, unless the model's own data has it.
  std::string name = "source.onnx";
  const auto taken = [&](const model::ExternalFile& file) {
    return std::filesystem::path(file.location).lexically_normal() == name;
  };
  while (std::ranges::any_of(facts.external_files, taken)) name = "_" + name;
  if (bytes) {
    PRECAST_TRY(fs::write_file_atomically(fs, folder / name, *bytes, fs::Durability::none));
  } else {
    PRECAST_TRY(fs.clone(model, folder / name));
  }
  for (const model::ExternalFile& file : facts.external_files) {
    const std::filesystem::path to = model::resolve_location(folder / name, file.location);
    PRECAST_TRY(fs::make_directories(fs, to.parent_path(), 0700, fs::Durability::none));
    PRECAST_TRY(fs.clone(model::resolve_location(model, file.location), to));
  }
  return folder / name;
}

}  // namespace precast::compile
