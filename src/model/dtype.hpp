// TensorProto.DataType as precast needs it (its name: dtype_name in model_facts.hpp).
#pragma once

#include <cstdint>
#include <string_view>

namespace precast::model {

[[nodiscard]] unsigned element_bits(std::int32_t element_type);     // 0: unknown, or strings
[[nodiscard]] std::int32_t element_type_of(std::string_view name);  // 0: no such name

}  // namespace precast::model
