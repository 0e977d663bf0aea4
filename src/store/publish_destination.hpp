// Where something is published: the folder as the disk knows it, and what may be replaced there; for src/store only.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "fs/file_system.hpp"
#include "store/layout.hpp"

namespace precast::store {

struct Destination {
  std::filesystem::path folder;  // absolute
  std::string name;              // of the .onnx
  std::string folder_id;         // SHA-256 of the folder's device and inode
  std::string id;                // of these and the name

  [[nodiscard]] std::filesystem::path output() const { return folder / name; }
};

// What must not be replaced.
class Inputs {
 public:
  static Result<Inputs> look_at(fs::FileSystem& fs, const std::vector<std::filesystem::path>& paths);
  [[nodiscard]] bool contain(const fs::FileStat& stat) const;
  [[nodiscard]] std::uint32_t mode() const { return mode_; }  // for what is published

 private:
  std::vector<fs::FileStat> stats_;
  std::uint32_t mode_ = 0600;
};

// Whether something is there. It must be a regular file that is none of the inputs: else bad_input.
[[nodiscard]] Result<bool> check_replaceable(fs::FileSystem& fs, const std::filesystem::path& path,
                                             const Inputs& inputs);
// Checks the output's name and place and changes nothing; the ids are not filled in.
[[nodiscard]] Result<Destination> check_destination(fs::FileSystem& fs, const Layout& layout,
                                                    const std::filesystem::path& output, const Inputs& inputs);
// Checks the output's name as above, makes its folder if there is none, and refuses one inside the store.
[[nodiscard]] Result<Destination> find_destination(fs::FileSystem& fs, const Layout& layout,
                                                   const std::filesystem::path& output, const Inputs& inputs);

}  // namespace precast::store
