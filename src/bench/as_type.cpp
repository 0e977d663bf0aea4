#include <algorithm>

#include <fmt/format.h>

#include "bench/element.hpp"
#include "bench/tensor_files.hpp"
#include "model/dtype.hpp"
#include "model/model_facts.hpp"
#include "util/text.hpp"

namespace precast::bench {
namespace {

bool is_float8(std::int32_t element_type) {
  return (element_type >= tensor::kTypeFloat8E4M3FN && element_type <= tensor::kTypeFloat8E5M2FNUZ) ||
         element_type == tensor::kTypeFloat8E8M0;
}

// Whether elements of the stored type carry those of `wanted`.
bool carries(const StoredTensor& stored, std::int32_t wanted) {
  const std::int32_t type = stored.tensor.element_type;
  if (wanted == tensor::kTypeBfloat16) return type == tensor::kTypeUint16;
  if (is_float8(wanted) || wanted == tensor::kTypeFloat4E2M1) return type == tensor::kTypeUint8;
  if (!is_packed(wanted)) return false;
  // ml_dtypes saves its int4 as 'V1'.
  return stored.raw ? type == tensor::kTypeUint8
                    : type == (is_signed_packed(wanted) ? tensor::kTypeInt8 : tensor::kTypeUint8);
}

bool fits(std::byte carrier, std::int32_t packed_type, bool raw) {
  const unsigned bits = model::element_bits(packed_type);
  const auto pattern = std::to_integer<unsigned>(carrier);
  if (!is_signed_packed(packed_type)) return pattern < 1U << bits;
  const unsigned half = 1U << (bits - 1);
  const bool value = pattern < half || pattern >= 256 - half;
  return value || (raw && pattern < 2 * half);  // ml_dtypes keeps the bits alone
}

std::string type_text(const StoredTensor& stored) {
  if (stored.raw)
    return stored.tensor.element_type == tensor::kTypeUint8 ? "raw bytes ('V1')" : "raw byte pairs ('V2')";
  return std::string(model::dtype_name(stored.tensor.element_type));
}

std::unexpected<Error> refuse(const StoredTensor& stored, const std::string& name, const std::string& what,
                              std::string hint) {
  return fail(ErrorCode::bad_input, fmt::format("input {} {}", util::quoted(name), what), stored.path, std::move(hint));
}

}  // namespace

Result<tensor::Tensor> as_type(StoredTensor stored, std::int32_t element_type, const std::string& name) {
  tensor::Tensor& tensor = stored.tensor;
  if (!stored.raw && tensor.element_type == element_type) return std::move(tensor);
  if (!carries(stored, element_type)) {
    return refuse(stored, name,
                  fmt::format("is {} in {}, the model wants {}", type_text(stored), util::quoted(stored.path),
                              model::dtype_name(element_type)),
                  "save the array as the type that the model wants");
  }
  if (is_packed(element_type)) {
    const auto outside = [&](std::byte carrier) { return !fits(carrier, element_type, stored.raw); };
    if (const auto one = std::ranges::find_if(tensor.bytes, outside); one != tensor.bytes.end()) {
      return refuse(stored, name,
                    fmt::format("has a value in {} that {} cannot hold: element {}", util::quoted(stored.path),
                                model::dtype_name(element_type), one - tensor.bytes.begin()),
                    "save values in the range of the type that the model wants");
    }
    tensor.bytes = pack(tensor.bytes, element_type);
  }
  tensor.element_type = element_type;
  return std::move(tensor);
}

}  // namespace precast::bench
