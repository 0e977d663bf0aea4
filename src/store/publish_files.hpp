// The files of one publication on their way to their names; for src/store only.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "fs/file_system.hpp"

namespace precast::store {

// A temporary file in the folder that it is for, locked while it is written. It goes with its object, unless it got
// its name.
class Temporary {
 public:
  // Empty, for writing.
  [[nodiscard]] static Result<Temporary> create(fs::FileSystem& fs, const std::filesystem::path& folder);
  // Of the bytes of `from`: reflink, else copy.
  [[nodiscard]] static Result<Temporary> clone(fs::FileSystem& fs, const std::filesystem::path& from,
                                               const std::filesystem::path& folder);
  // A second name of `from`, which is a published file; where there are none, a clone.
  [[nodiscard]] static Result<Temporary> link(fs::FileSystem& fs, const std::filesystem::path& from,
                                              const std::filesystem::path& folder);
  ~Temporary();
  Temporary(Temporary&& other) noexcept;
  Temporary& operator=(Temporary&&) = delete;
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] fs::File& file() { return file_; }  // open for writing, unless it is a link
  // A link is as durable as its file is, and has its mode.
  [[nodiscard]] Result<void> make_durable(std::uint32_t mode);
  [[nodiscard]] Result<void> rename(const std::filesystem::path& to);  // replaces

 private:
  Temporary(fs::FileSystem& fs, std::filesystem::path path) : fs_(fs), path_(std::move(path)) {}

  fs::FileSystem& fs_;
  std::filesystem::path path_;  // empty: gone
  fs::File file_;
};

// What replaces what, until it is known that all of it works.
class Installation {
 public:
  enum class Old : std::uint8_t { ours, theirs };  // theirs: never linked, a link changes a file's ctime

  explicit Installation(fs::FileSystem& fs) : fs_(fs) {}
  [[nodiscard]] Result<void> put(Temporary& file, const std::filesystem::path& to, Old old);
  // Everything as it was, as far as the disk allows.
  void undo();

 private:
  struct Step {
    std::filesystem::path path;
    std::vector<Temporary> backup;  // one, if something was there
    bool done = false;
  };
  fs::FileSystem& fs_;
  std::vector<Step> steps_;
};

}  // namespace precast::store
