// `compile BUNDLE -o DIR`: a prepared bundle as a folder of its own, to be moved anywhere.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>

#include "genai/prepare.hpp"
#include "util/cancel.hpp"

namespace precast::genai {

// Beside genai_config.json: what precast put into the folder, so that nothing else is ever removed from it.
inline constexpr const char* kPublishedName = "precast_bundle.json";

struct PublishBundle {
  std::filesystem::path output;    // absolute; missing parents are made
  std::filesystem::path original;  // the bundle's folder: neither in it nor around it is published
  std::filesystem::path store;     // the cache's root, likewise
  bool overwrite = false;
  // For whoever else publishes in the same folder; not given: until they are done. `on_wait` is called once, after a
  // second.
  std::optional<std::chrono::milliseconds> lock_timeout;
  std::function<void(const std::filesystem::path& folder)> on_wait;
  const util::CancelToken* cancel = nullptr;
};

// What publishing would refuse of the place alone, before the compile that would be in vain. bad_input: something is
// there that is not empty (without `overwrite`), or is not precast's; a link; in the bundle or the store, or around
// them; in another published bundle. A folder that precast published and that nobody changed is accepted with
// `overwrite`, or if it is what would be written.
[[nodiscard]] Result<void> check_bundle_output(fs::FileSystem& fs, const PublishBundle& request);

enum class Publication : std::uint8_t {
  written,
  same,  // it was there already, as it would be made
  kept,  // another one is there and stays: a stage of this one failed to compile
};
// The folder appears whole or not at all, and durably; one that is replaced is there until that moment. Safe against
// others who publish at the same time: of two that publish the same, one finds it there.
struct PublishedBundle {
  std::filesystem::path folder;
  Publication publication = Publication::written;
};
[[nodiscard]] Result<PublishedBundle> publish_bundle(fs::FileSystem& fs, const PreparedBundle& prepared,
                                                     const PublishBundle& request);

}  // namespace precast::genai
