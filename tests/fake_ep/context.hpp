#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "faults.hpp"
#include "onnxruntime_cxx_api.h"
#include "program.hpp"
#include "settings.hpp"

namespace precast::fake_ep {

// Makes the EPContext nodes of one Compile call. `first_index` is the number of partitions of earlier calls.
class ContextWriter {
 public:
  ContextWriter(const Settings& settings, const Faults& faults, const std::filesystem::path& model_path);

  // Writes (or, embedded, keeps) the binaries of these partitions.
  void write(const std::vector<Program>& programs, std::size_t first_index);

  // The node for the partition at `index` of those written.
  Ort::Node node(const Program& program, std::size_t index) const;

 private:
  struct Reference {
    bool main = true;
    bool present = true;  // whether the node has ep_cache_context
    std::string cache_context;
  };

  void add_binary(const std::string& blob, std::size_t partition);
  std::string write_external(const std::string& bytes, std::size_t partition) const;

  const Settings& settings_;
  std::filesystem::path folder_;
  std::string stem_;
  std::string bad_reference_;  // kind, or ""
  bool truncate_;
  bool empty_;
  bool missing_;
  std::string source_;
  std::vector<Reference> references_;
};

// A second node with the attributes of an EPContext node: what real EPs answer when a compiled model is compiled again.
Ort::Node copy_context_node(Ort::ConstNode node, const std::string& name);

// The partitions that the EPContext nodes of a session have brought so far.
class ContextLoader {
 public:
  // Reads the binaries of those nodes that have one (main_context=1). Throws EpError.
  void load(std::span<const Ort::ConstNode> nodes, const Settings& settings, const std::filesystem::path& model_path);

  // The partition that the node names. Throws EpError if no binary brought it.
  const Program& partition_of(Ort::ConstNode node) const;

 private:
  std::map<std::string, Program> partitions_;
};

}  // namespace precast::fake_ep
