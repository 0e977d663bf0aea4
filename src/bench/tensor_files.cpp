#include "bench/tensor_files.hpp"

#include <new>

#include <fmt/format.h>

#include "bench/npz.hpp"
#include "bench/source.hpp"
#include "bench/tensor_folder.hpp"
#include "fs/file_system.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::bench {
namespace {

bool is_npz(const std::filesystem::path& path) {
  return util::ascii_lower(path.extension().native()) == ".npz";
}

Result<StoredTensors> read_any(const std::filesystem::path& path, const std::vector<std::string>& input_names) {
  auto stat = fs::FileSystem::posix().stat(path);
  if (!stat) {
    stat.error().hint = "name a .npz, or a folder of NAME.npy or ONNX's input_0.pb, ...";
    return std::unexpected(std::move(stat).error());
  }
  if (stat->kind == fs::FileKind::directory) return read_folder(path, input_names);
  if (is_npz(path)) return read_npz(path);
  return bad({path, util::quoted(path)}, "is neither a .npz nor a folder",
             "save the arrays with numpy.savez(path, NAME=array, ...), or name the folder that holds NAME.npy");
}

Result<void> write_any(const std::filesystem::path& path, const tensor::Tensors& tensors, bool overwrite) {
  if (util::ascii_lower(path.extension().native()) == ".npy") {
    return bad({path, util::quoted(path)}, "is the name of one array, and there may be several outputs",
               "give NAME.npz, or a folder");
  }
  if (!is_npz(path)) return write_folder(path, tensors, overwrite);
  const auto stat = fs::FileSystem::posix().stat(path);
  if (stat && stat->kind == fs::FileKind::directory) {
    return bad({path, util::quoted(path)}, "is a folder, in the place of an archive",
               "give another name; a folder for arrays must not end in .npz");
  }
  if (!overwrite) PRECAST_TRY(refuse_existing(path));
  return write_npz(path, tensors);
}

// What a file of the user's says may be more than this machine has.
template <typename Act>
auto within_memory(const std::filesystem::path& path, Act&& act) -> decltype(act()) {
  try {
    return act();
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::bad_input, fmt::format("the tensors of {} do not fit in memory", util::quoted(path)), path,
                "split them, or use a machine with more memory");
  }
}

}  // namespace

Result<StoredTensors> read_tensors(const std::filesystem::path& path, const std::vector<std::string>& input_names) {
  return within_memory(path, [&] { return read_any(path, input_names); });
}

Result<void> write_tensors(const std::filesystem::path& path, const tensor::Tensors& tensors, bool overwrite) {
  return within_memory(path, [&] { return write_any(path, tensors, overwrite); });
}

}  // namespace precast::bench
