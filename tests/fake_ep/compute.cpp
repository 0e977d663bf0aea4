#include "compute.hpp"

#include <utility>

#include "ep.hpp"
#include "executor.hpp"

namespace precast::fake_ep {

ComputeInfo::ComputeInfo(Program program, std::vector<std::size_t> inputs, std::vector<std::size_t> outputs,
                         const Faults& faults)
    : OrtNodeComputeInfo{},
      program_(std::move(program)),
      inputs_(std::move(inputs)),
      outputs_(std::move(outputs)),
      faults_(faults) {
  ort_version_supported = ORT_API_VERSION;
  CreateState = [](OrtNodeComputeInfo* self, OrtNodeComputeContext*, void** state) noexcept -> OrtStatus* {
    *state = self;
    return guarded([&] { static_cast<ComputeInfo*>(self)->faults_.at(Where::kCreateState); });
  };
  Compute = [](OrtNodeComputeInfo* self, void*, OrtKernelContext* context) noexcept -> OrtStatus* {
    return guarded([&] { static_cast<ComputeInfo*>(self)->compute(context); });
  };
  ReleaseState = [](OrtNodeComputeInfo*, void*) noexcept {};
}

void ComputeInfo::compute(OrtKernelContext* raw_context) const {
  faults_.at(Where::kCompute);
  const Ort::KernelContext context(raw_context);
  std::vector<std::vector<std::int64_t>> shapes;
  std::vector<std::span<const float>> values;
  for (const std::size_t position : inputs_) {
    const Ort::ConstValue input = context.GetInput(position);
    const auto info = input.GetTensorTypeAndShapeInfo();
    shapes.push_back(info.GetShape());
    values.emplace_back(input.GetTensorData<float>(), info.GetElementCount());
  }
  std::vector<TensorView> views;
  views.reserve(inputs_.size());
  for (std::size_t i = 0; i < inputs_.size(); ++i) views.push_back({shapes[i], values[i]});
  const std::vector<Tensor> results = execute(program_, views);
  for (std::size_t i = 0; i < results.size(); ++i) {
    Ort::UnownedValue output = context.GetOutput(outputs_[i], results[i].shape);
    std::ranges::copy(results[i].values, output.GetTensorMutableData<float>());
  }
}

}  // namespace precast::fake_ep
