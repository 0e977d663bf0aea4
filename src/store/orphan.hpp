// A generation whose marker could not be written: it lives as long as whoever made it holds on to it.
#pragma once

#include <string>
#include <utility>

#include "store/store.hpp"

namespace precast::store {

class Orphan {
 public:
  // `lease` is the generation's; `key` the one whose marker should have named it.
  Orphan(fs::FileSystem& fs, Layout layout, std::string key, Lease lease)
      : fs_(fs), layout_(std::move(layout)), key_(std::move(key)), lease_(std::move(lease)) {}
  // Deletes it, unless somebody else uses it or a marker names it after all. What cannot be deleted now is swept later.
  ~Orphan();
  Orphan(const Orphan&) = delete;
  // For a caller that becomes another program: the generation stays, and is swept once this lease ends.
  [[nodiscard]] Lease take_lease() { return std::exchange(lease_, Lease()); }
  Orphan& operator=(const Orphan&) = delete;

 private:
  fs::FileSystem& fs_;
  Layout layout_;
  std::string key_;
  Lease lease_;
};

}  // namespace precast::store
