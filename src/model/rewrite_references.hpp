// Gives the binaries of an EPContext model other names: a new .onnx, in which only the references (the
// `ep_cache_context` of nodes that are not embedded) and the lengths around them differ. Everything else is copied byte
// for byte, also what precast does not know. Two passes over the file; payloads are never held in memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>

#include "fs/file_system.hpp"
#include "precast/error.hpp"
#include "util/cancel.hpp"

namespace precast::model {

using ReferenceNames = std::map<std::string, std::string, std::less<>>;  // reference as written -> new reference

struct Rewritten {
  std::string source_sha256;  // of the bytes that were read
  std::string sha256;         // of the bytes that were written
  std::uint64_t size = 0;     // likewise
};

// Writes to the end of `to`, an empty file, which is neither fsynced nor closed. Nodes anywhere in the model count:
// main graph, subgraphs, functions. A secondary node without a reference stays as it is.
//
// Errors: those of read_model; bad_input for a reference that `names` does not have, a main node without one, a node
// that has two, or a result past 2 GiB; corrupt if the file changed meanwhile; cancelled. What was written then is
// worth nothing. Free-threaded.
[[nodiscard]] Result<Rewritten> rewrite_references(fs::FileSystem& fs, const std::filesystem::path& from,
                                                   const ReferenceNames& names, fs::File& to,
                                                   const util::CancelToken* cancel = nullptr);

}  // namespace precast::model
