// A private folder that looks like the bundle with another configuration, made of links: for routing without compiling,
// and where the store cannot keep a prepared bundle. It lives as long as a session does.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "compile/work_folder.hpp"
#include "genai/bundle.hpp"

namespace precast::genai {

struct ViewedStage {
  std::filesystem::path place;   // a folder in the view: "precast/1-context"
  std::filesystem::path folder;  // what it stands for
};

// The folder in the view through which the original's files are reached: genai takes no path that leads out of a
// bundle, and OpenVINO no external data that is a link, but both take a folder that is one.
inline constexpr const char* kOriginalInView = "precast/original";

// `config` names stage models below kOriginalInView or `stages`. What else lies in the original's folder itself is
// linked under its own name.
[[nodiscard]] Result<std::filesystem::path> make_view(fs::FileSystem& fs, const compile::WorkFolder& work,
                                                      const std::filesystem::path& original, const std::string& config,
                                                      const std::vector<ViewedStage>& stages);

}  // namespace precast::genai
