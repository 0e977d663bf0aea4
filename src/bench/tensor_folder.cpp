#include "bench/tensor_folder.hpp"

#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "bench/file_name.hpp"
#include "bench/npy.hpp"
#include "bench/tensor_proto.hpp"
#include "bench/whole_file.hpp"
#include "fs/file_system.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::bench {
namespace {

constexpr std::string_view kArraySuffix = ".npy";
constexpr std::string_view kInputPrefix = "input_";
constexpr std::string_view kOutputPrefix = "output_";
constexpr std::string_view kProtoSuffix = ".pb";
constexpr std::size_t kLongestFileName = 255;
constexpr std::uint32_t kNewFolderMode = 0777;  // less the umask, as mkdir does

// The N of input_N.pb, with the prefix "input_".
std::optional<std::size_t> proto_index(std::string_view file_name, std::string_view prefix) {
  if (!file_name.starts_with(prefix) || !file_name.ends_with(kProtoSuffix)) return std::nullopt;
  file_name.remove_prefix(prefix.size());
  file_name.remove_suffix(kProtoSuffix.size());
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(file_name.data(), file_name.data() + file_name.size(), index);
  if (error != std::errc() || end != file_name.data() + file_name.size()) return std::nullopt;
  return index;
}

Place place_of(const std::filesystem::path& path) {
  return {path, util::quoted(path)};
}

Result<NamedTensor> read_array(const std::filesystem::path& path, std::string_view file_name) {
  file_name.remove_suffix(kArraySuffix.size());
  auto name = from_file_name(file_name);
  if (!name) {
    return bad(place_of(path), "has a name that is no tensor's: it is not UTF-8, or has a '%' without a number",
               "write '%' as %25 and '/' as %2F");
  }
  PRECAST_TRY_ASSIGN(OpenedFile opened, open_regular(path));
  FileSource source(std::move(opened), path);
  PRECAST_TRY_ASSIGN(StoredTensor stored, read_npy(source));
  return NamedTensor{std::move(*name), std::move(stored)};
}

// `what`: "input" or "output".
Result<NamedTensor> read_proto(const std::filesystem::path& path, std::size_t index,
                               const std::vector<std::string>& names, std::string_view what) {
  PRECAST_TRY_ASSIGN(NamedTensor named, read_tensor_proto(path));
  if (!named.name.empty()) return named;
  if (index >= names.size()) {
    return bad(place_of(path),
               fmt::format("has no name in it, and the model has only {0} {1}s: there is no {1} {2}", names.size(),
                           what, index),
               fmt::format("name the tensor, or number the files as the model's {0}s stand, from {0}_0.pb", what));
  }
  named.name = names[index];
  return named;
}

// nullopt: a file that is no input.
Result<std::optional<NamedTensor>> read_input(const std::filesystem::path& path,
                                              const std::vector<std::string>& names) {
  const std::string file_name = path.filename();
  if (file_name.ends_with(kArraySuffix)) return read_array(path, file_name);
  if (const auto index = proto_index(file_name, kInputPrefix)) return read_proto(path, *index, names, "input");
  return std::nullopt;
}

Result<std::optional<NamedTensor>> read_output(const std::filesystem::path& path,
                                               const std::vector<std::string>& names) {
  if (const auto index = proto_index(path.filename().native(), kOutputPrefix)) {
    return read_proto(path, *index, names, "output");
  }
  return std::nullopt;
}

// `read` gives nullopt for a file to leave alone.
template <typename Read>
Result<StoredTensors> read_all(const std::filesystem::path& folder, const std::vector<std::string>& names, Read read) {
  StoredTensors tensors;
  PRECAST_TRY_ASSIGN(const std::vector<fs::DirEntry> entries, fs::FileSystem::posix().list(folder));
  for (const fs::DirEntry& entry : entries) {
    const std::filesystem::path path = folder / entry.name;
    PRECAST_TRY_ASSIGN(std::optional<NamedTensor> named, read(path, names));
    if (!named) continue;
    const auto [at, added] = tensors.try_emplace(std::move(named->name), std::move(named->stored));
    if (added) continue;
    return bad(place_of(path),
               fmt::format("holds {}, which is in {} already", util::quoted(at->first), util::quoted(at->second.path)),
               "keep one file for each tensor");
  }
  return tensors;
}

Result<StagedFile> stage_array(const std::filesystem::path& path, const std::string& name,
                               const tensor::Tensor& tensor) {
  PRECAST_TRY_ASSIGN(const NpyImage image, NpyImage::make(tensor, name));
  return stage_whole(path, [&](const std::filesystem::path& temporary) {
    const std::array parts = {std::as_bytes(std::span(image.header())), image.values()};
    return write_parts(temporary, path, parts);
  });
}

Result<void> check_folder(const std::filesystem::path& folder) {
  const auto stat = fs::FileSystem::posix().stat(folder);
  if (!stat || stat->kind == fs::FileKind::directory) return {};  // what stat could not say, making it will
  return bad(place_of(folder), "is a file: arrays are written into a folder, or into a new .npz",
             "give a path that ends in .npz, or that of a folder");
}

}  // namespace

Result<StoredTensors> read_folder(const std::filesystem::path& folder, const std::vector<std::string>& input_names) {
  PRECAST_TRY_ASSIGN(StoredTensors tensors, read_all(folder, input_names, read_input));
  if (!tensors.empty()) return tensors;
  return bad(place_of(folder), "has neither NAME.npy nor input_0.pb in it",
             "name a folder of such files, or a .npz of numpy.savez");
}

Result<StoredTensors> read_expected_outputs(const std::filesystem::path& folder,
                                            const std::vector<std::string>& output_names) {
  return read_all(folder, output_names, read_output);
}

Result<void> refuse_existing(const std::filesystem::path& path) {
  if (!fs::exists(fs::FileSystem::posix(), path)) return {};
  return bad(place_of(path), "is there already", "give --overwrite to replace it, or write elsewhere");
}

Result<void> write_folder(const std::filesystem::path& folder, const tensor::Tensors& tensors, bool overwrite) {
  PRECAST_TRY(check_folder(folder));
  const auto path_of = [&](const std::string& name) {
    return folder / (to_file_name(name) + std::string(kArraySuffix));
  };
  for (const auto& [name, tensor] : tensors) {
    if (path_of(name).filename().native().size() > kLongestFileName) {
      return bad({folder, "tensor " + util::quoted(name)}, "has a name that is too long for a file",
                 "write into a .npz instead: there it may be");
    }
    if (!overwrite) PRECAST_TRY(refuse_existing(path_of(name)));
  }
  PRECAST_TRY(fs::make_directories(fs::FileSystem::posix(), folder, kNewFolderMode, fs::Durability::none));
  // All of them are written before the first one is in its place: a full disk must not leave old and new ones mixed.
  std::vector<StagedFile> staged;
  staged.reserve(tensors.size());
  for (const auto& [name, tensor] : tensors) {
    PRECAST_TRY_ASSIGN(auto file, stage_array(path_of(name), name, tensor));
    staged.push_back(std::move(file));
  }
  for (StagedFile& file : staged) PRECAST_TRY(file.commit());
  return {};
}

}  // namespace precast::bench
