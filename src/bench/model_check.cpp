#include "bench/model_check.hpp"

#include <algorithm>

#include "bench/tensor_folder.hpp"
#include "fs/file_system.hpp"
#include "model/dtype.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::bench {

namespace {

std::vector<CheckedOutput> compare_all(const std::vector<ort::Output>& computed,
                                       const std::vector<ort::Output>& wanted) {
  std::vector<CheckedOutput> checked;
  for (const ort::Output& output : wanted) {
    if (!output.tensor) continue;
    const auto found = std::ranges::find(computed, output.name, &ort::Output::name);
    tensor::Difference difference;
    if (found == computed.end() || !found->tensor) {
      difference.mismatch = "it is missing";
    } else {
      difference = tensor::compare(*found->tensor, *output.tensor);
    }
    checked.push_back({output.name, std::move(difference)});
  }
  return checked;
}

bool all_agree(const std::vector<CheckedOutput>& checked) {
  return std::ranges::all_of(checked, [](const CheckedOutput& one) { return one.difference.agrees(); });
}

// Of a folder of test data; none in any other one.
Result<std::vector<ort::Output>> read_expected(const std::filesystem::path& folder,
                                               const std::vector<ort::Output>& outputs) {
  std::vector<std::string> names;
  names.reserve(outputs.size());
  for (const ort::Output& output : outputs) names.push_back(output.name);
  PRECAST_TRY_ASSIGN(auto stored, read_expected_outputs(folder, names));
  std::vector<ort::Output> expected;
  for (auto& [name, one] : stored) {
    const auto output = std::ranges::find(outputs, name, &ort::Output::name);
    if (output == outputs.end()) {
      return fail(ErrorCode::bad_input,
                  util::quoted(one.path) + " expects an output " + util::quoted(name) + ", which the model has not",
                  one.path, "it has " + util::listed_quoted(names));
    }
    const std::int32_t type = output->tensor ? output->tensor->element_type : one.tensor.element_type;
    PRECAST_TRY_ASSIGN(auto tensor, as_type(std::move(one), type, name));
    expected.push_back({name, std::move(tensor)});
  }
  return expected;
}

}  // namespace

bool ModelCheck::ok() const {
  return all_agree(outputs) && all_agree(expected_outputs);
}

Result<void> require_source(const std::filesystem::path& source, const std::filesystem::path& model) {
  if (!source.empty()) return {};
  return fail(ErrorCode::unsupported, util::quoted(model) + " is compiled: there is no source to check it against",
              model, "give the model that it was compiled from, or leave out --check");
}

Result<References> References::make(ort::Catalog& catalog, const std::filesystem::path& source,
                                    const ort::SessionSettings& settings, tensor::Tensors& inputs,
                                    const std::filesystem::path& data) {
  PRECAST_TRY_ASSIGN(auto session, ort::open_session(catalog, ort::cpu_target(),
                                                     {.free_dimensions = settings.free_dimensions}, {.model = source}));
  PRECAST_TRY_ASSIGN(auto run,
                     ort::run_tensors(session.session, inputs, "ORT's CPU EP does not run " + util::quoted(source)));
  References references;
  references.cpu_ = std::move(run.outputs);
  for (const ort::Output& output : references.cpu_) {
    if (!output.tensor) references.not_compared_.push_back(output.name);
  }
  if (references.not_compared_.size() == references.cpu_.size()) {
    return fail(ErrorCode::unsupported, "no output of " + util::quoted(source) + " is a tensor: nothing can be checked",
                source, "leave out --check");
  }
  std::error_code ignored;  // what cannot be looked at was refused when the inputs were read
  if (data.empty() || !std::filesystem::is_directory(data, ignored)) return references;
  PRECAST_TRY_ASSIGN(references.expected_, read_expected(data, references.cpu_));
  if (!references.expected_.empty()) references.expected_source_ = data;
  return references;
}

ModelCheck References::check(const std::vector<ort::Output>& outputs) const {
  return {.outputs = compare_all(outputs, cpu_),
          .expected_source = expected_source_,
          .expected_outputs = compare_all(outputs, expected_),
          .not_compared = not_compared_};
}

}  // namespace precast::bench
