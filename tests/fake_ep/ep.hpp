#pragma once

#include <memory>
#include <string>
#include <vector>

#include "context.hpp"
#include "error.hpp"
#include "faults.hpp"
#include "onnxruntime_cxx_api.h"
#include "program.hpp"
#include "settings.hpp"

namespace precast::fake_ep {

// Runs the body of a callback; what it throws becomes ORT's status. Anything but a std::exception passes through.
template <typename Body>
OrtStatus* guarded(Body body) {
  try {
    body();
    return nullptr;
  } catch (const Ort::Exception& error) {
    return Ort::Status(error.what(), error.GetOrtErrorCode()).release();
  } catch (const EpError& error) {
    return Ort::Status(error.what(), error.code()).release();
  } catch (const std::exception& error) {
    return Ort::Status(error.what(), ORT_EP_FAIL).release();
  }
}

// One session's EP.
class Ep : public OrtEp {
 public:
  Ep(Settings settings, const OrtLogger* logger);

  const Faults& faults() const { return faults_; }

 private:
  void get_capability(const OrtGraph* graph, OrtEpGraphSupportInfo* info) const;
  bool claims(Ort::ConstNode node) const;
  void compile(const OrtGraph** graphs, const OrtNode** fused_nodes, std::size_t count, OrtNodeComputeInfo** infos,
               OrtNode** context_nodes);

  struct Partition {
    Ort::ConstGraph graph{nullptr};
    Ort::ConstNode fused_node{nullptr};
    OrtNodeComputeInfo** info = nullptr;
    OrtNode** context_node = nullptr;
  };
  void compile_sources(const std::vector<Partition>& partitions);
  void load_contexts(const std::vector<Partition>& partitions);

  Settings settings_;
  Faults faults_;
  Ort::Logger logger_;
  std::string compatibility_;
  std::size_t compiled_partitions_ = 0;
  ContextLoader loader_;
};

}  // namespace precast::fake_ep
