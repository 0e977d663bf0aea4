// The stages of model.decoder, read out of the document and found on the disk.
#pragma once

#include <vector>

#include "fs/file_system.hpp"
#include "genai/bundle.hpp"
#include "genai/config_json.hpp"

namespace precast::genai {

// bundle.folder, config_path and layout are set; the stages are returned. Errors as read_bundle gives them.
[[nodiscard]] Result<std::vector<Stage>> read_stages(fs::FileSystem& fs, const Bundle& bundle, const Json& decoder,
                                                     Notes& notes);

}  // namespace precast::genai
