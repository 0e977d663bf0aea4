// The same inputs run again and again, with as little around ORT's call as there can be: for measurements.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <onnxruntime_cxx_api.h>

#include "ort/inference.hpp"
#include "precast/error.hpp"
#include "tensor/tensor.hpp"

namespace precast::ort {

// Inputs are bound once; outputs are bound to the CPU's memory, where ORT makes them at the first run and fills them
// again at the next ones (I/O binding). Without binding, each run call gets the inputs by name and makes its outputs:
// the copying path. One thread at a time each; several on one session may run at once.
class BoundRun {
 public:
  // The tensors and the session must outlive it. Errors: check_inputs'; else `doing`, a colon, and ORT's words.
  [[nodiscard]] static Result<BoundRun> make(Ort::Session& session, tensor::Tensors& inputs, bool io_binding,
                                             std::string_view doing);

  // Before each run(), and not to be timed: what the last one left that the next cannot use.
  void prepare();
  // The run call and nothing else; null is success. The status is the caller's: to check().
  [[nodiscard]] OrtStatus* run() noexcept;
  // After a run that failed: whether it may be tried again, with outputs made anew in every run from now on. They may
  // be of another size each time, which those that are filled again cannot take.
  [[nodiscard]] bool make_outputs_anew();
  // After each run(). compile_failed: `doing`, a colon, and ORT's words.
  [[nodiscard]] Result<void> check(OrtStatus* status);
  // What the last run gave, in the model's order, copied.
  [[nodiscard]] Result<std::vector<Output>> outputs() const;

 private:
  BoundRun() = default;
  [[nodiscard]] bool is_bound() const { return static_cast<const OrtIoBinding*>(binding_) != nullptr; }
  void bind_outputs();

  const OrtApi* api_ = nullptr;
  Ort::Session* session_ = nullptr;
  std::string doing_;
  Ort::RunOptions options_{nullptr};
  Values inputs_;
  std::vector<const OrtValue*> input_values_;
  std::vector<std::string> output_name_texts_;
  std::vector<const char*> input_names_;   // into inputs_
  std::vector<const char*> output_names_;  // into output_name_texts_
  std::vector<OrtValue*> raw_outputs_;     // without binding: during the run call
  std::vector<Ort::Value> owned_outputs_;  // and after it
  Ort::IoBinding binding_{nullptr};        // null without binding
  Ort::MemoryInfo memory_{nullptr};
  bool rebind_ = false;    // outputs that are no tensors are not filled again, and strings are appended to
  bool may_vary_ = false;  // an output's size is open
};

}  // namespace precast::ort
