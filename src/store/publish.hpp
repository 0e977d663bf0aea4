// Publishing (`compile -o`; docs/store-format.md): a user-visible copy of exactly one generation.
//
// An .onnx, and for each binary that it refers to `<alias>.<64 hex of its SHA-256>.bin`, which it names, and
// `<alias>.bin` of the same bytes. The alias is the binary's name with the generation's stem ("model") replaced by the
// output's; a name that does not begin with it is put behind the output's stem. What is published gets the source's
// permissions (without execute). Free-threaded; processes wait for each other per output.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "fs/lock.hpp"
#include "store/records.hpp"
#include "store/store.hpp"

namespace precast::store {

struct OutputChoice {
  std::filesystem::path file;    // -o FILE; wins
  std::filesystem::path folder;  // --output-dir; else the model's own
};
// `<stem>_<ep alias>_ctx.onnx` in a folder unless a file is named; a stem that makes a name longer than 255 bytes is
// cut and gets 8 hex digits of its SHA-256.
[[nodiscard]] std::filesystem::path output_path(const OutputChoice& choice, const std::filesystem::path& model,
                                                std::string_view ep_alias);

// One generation, whose lease the caller holds until publish() has returned.
struct PublishSource {
  std::filesystem::path folder;
  std::vector<Artifact> artifacts;  // as its marker names them, model.onnx first
  std::string model = std::string(kModelName);
};
[[nodiscard]] inline PublishSource source_of(const Hit& hit) {
  return {.folder = hit.folder, .artifacts = hit.marker.artifacts};
}

struct PublishRequest {
  std::filesystem::path output;               // of the .onnx; missing folders are made
  std::vector<std::filesystem::path> inputs;  // the model that was compiled, then its external data: never replaced
  std::string binary_stem;  // in the names of the binaries, for models that share some; empty: the output's stem
  bool overwrite = false;
  fs::Lock::WaitOptions wait;  // for others who publish the same output; its cancel token ends copying, too
};

struct Published {
  std::filesystem::path model;               // absolute
  std::vector<std::filesystem::path> files;  // beside it: binaries, sidecars, aliases
  bool written = true;                       // false: all of it was there already
};

// Only bytes with the digests of `source` are published. What lies at one of the names already is left alone if it is
// what would be written (for the .onnx: by the record of an earlier publication); else it is bad_input without
// `overwrite`, and replaced with it. Files of this output that are older than its newest 4 publications go, if they are
// unchanged and no .onnx of the folder names them.
//
// On failure everything is as it was, but for temporary files (fs::is_temporary) that could not be deleted, which the
// next publication into that folder deletes. Whoever is killed may leave binaries that the record lists, and never an
// .onnx without its binaries.
//
// Errors: bad_input (the output is one of the inputs, a link, a folder, in the store, or something else is there),
// not_found (a binary is missing), corrupt (a reference leaves the generation, or bytes are not the stored ones),
// unsupported (two binaries would have one name; weights outside the model), busy and cancelled (waiting), io (also: a
// store that cannot be written), no_space.
[[nodiscard]] Result<Published> publish(Store& store, const PublishSource& source, const PublishRequest& request);

// What publish() would refuse of the output's name and place, before anything is compiled for it.
[[nodiscard]] Result<void> check_output(Store& store, const PublishRequest& request);

}  // namespace precast::store
