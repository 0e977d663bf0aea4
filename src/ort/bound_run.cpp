#include "ort/bound_run.hpp"

#include <algorithm>
#include <utility>

#include "ort/runtime.hpp"
#include "util/try.hpp"

namespace precast::ort {

Result<BoundRun> BoundRun::make(Ort::Session& session, tensor::Tensors& inputs, bool io_binding,
                                std::string_view doing) {
  try {
    BoundRun run;
    run.api_ = &Ort::GetApi();
    run.session_ = &session;
    run.doing_ = doing;
    run.options_ = Ort::RunOptions();
    run.options_.SetRunLogSeverityLevel(ORT_LOGGING_LEVEL_WARNING);  // a session that counted its nodes logs everything
    PRECAST_TRY_ASSIGN(run.inputs_, to_values(inputs));
    PRECAST_TRY(check_inputs(inputs_of(session), run.inputs_));
    for (const auto& [name, value] : run.inputs_) {
      run.input_names_.push_back(name.c_str());
      run.input_values_.push_back(value);
    }
    for (const TensorInfo& output : outputs_of(session)) {
      run.output_name_texts_.push_back(output.name);
      run.rebind_ = run.rebind_ || output.dtype.empty() || output.dtype == "str";
      run.may_vary_ = run.may_vary_ || std::ranges::any_of(output.shape, [](std::int64_t size) { return size < 0; });
    }
    for (const std::string& name : run.output_name_texts_) run.output_names_.push_back(name.c_str());
    run.raw_outputs_.resize(run.output_names_.size(), nullptr);
    if (!io_binding) return run;
    run.binding_ = Ort::IoBinding(session);
    run.memory_ = Ort::MemoryInfo::CreateCpu(OrtDeviceAllocator, OrtMemTypeDefault);
    for (const auto& [name, value] : run.inputs_) run.binding_.BindInput(name.c_str(), value);
    run.bind_outputs();
    return run;
  } catch (const Ort::Exception& exception) {
    return std::unexpected(to_error(exception, doing, ErrorCode::compile_failed));
  }
}

void BoundRun::bind_outputs() {
  for (const char* name : output_names_) binding_.BindOutput(name, memory_);
}

void BoundRun::prepare() {
  owned_outputs_.clear();
  if (!is_bound() || !rebind_) return;
  binding_.ClearBoundOutputs();
  bind_outputs();
}

OrtStatus* BoundRun::run() noexcept {
  if (is_bound()) return api_->RunWithBinding(*session_, options_, binding_);
  return api_->Run(*session_, options_, input_names_.data(), input_values_.data(), input_values_.size(),
                   output_names_.data(), output_names_.size(), raw_outputs_.data());
}

bool BoundRun::make_outputs_anew() {
  if (!is_bound() || rebind_ || !may_vary_) return false;
  rebind_ = true;
  return true;
}

Result<void> BoundRun::check(OrtStatus* status) {
  for (OrtValue*& raw : raw_outputs_) {
    if (raw != nullptr) owned_outputs_.emplace_back(std::exchange(raw, nullptr));
  }
  if (status == nullptr) return {};
  try {
    Ort::ThrowOnError(status);
    return {};
  } catch (const Ort::Exception& exception) {
    return std::unexpected(to_error(exception, doing_, ErrorCode::compile_failed));
  }
}

Result<std::vector<Output>> BoundRun::outputs() const {
  try {
    const std::vector<Ort::Value> bound = is_bound() ? binding_.GetOutputValues() : std::vector<Ort::Value>();
    const std::vector<Ort::Value>& values = is_bound() ? bound : owned_outputs_;
    std::vector<Output> outputs;
    for (std::size_t i = 0; i < values.size() && i < output_name_texts_.size(); ++i) {
      Output& output = outputs.emplace_back();
      output.name = output_name_texts_[i];
      auto tensor = to_tensor(values[i]);
      if (!tensor && tensor.error().code != ErrorCode::unsupported) return std::unexpected(tensor.error());
      if (tensor) output.tensor = std::move(*tensor);
    }
    return outputs;
  } catch (const Ort::Exception& exception) {
    return std::unexpected(to_error(exception, doing_, ErrorCode::internal));
  }
}

}  // namespace precast::ort
