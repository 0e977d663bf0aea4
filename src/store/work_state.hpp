// What a Work holds; for src/store only.
#pragma once

#include <string>

#include "store/store.hpp"

namespace precast::store {

struct Work::State {
  fs::FileSystem& fs;
  Layout layout;
  std::string uuid;
  fs::Lock lease;  // shared
};

}  // namespace precast::store
