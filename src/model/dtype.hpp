// TensorProto.DataType as precast needs it (its name: dtype_name in model_facts.hpp).
#pragma once

#include <cstdint>

namespace precast::model {

[[nodiscard]] unsigned element_bits(std::int32_t element_type);  // 0: unknown, or strings

}  // namespace precast::model
