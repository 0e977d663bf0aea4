// TensorProto.DataType's numbers (onnx.proto), for code that treats types apart.
#pragma once

#include <cstdint>

namespace precast::tensor {

enum ElementType : std::int32_t {
  kTypeFloat = 1,
  kTypeUint8 = 2,
  kTypeInt8 = 3,
  kTypeUint16 = 4,
  kTypeInt16 = 5,
  kTypeInt32 = 6,
  kTypeInt64 = 7,
  kTypeString = 8,
  kTypeBool = 9,
  kTypeFloat16 = 10,
  kTypeDouble = 11,
  kTypeUint32 = 12,
  kTypeUint64 = 13,
  kTypeComplex64 = 14,
  kTypeComplex128 = 15,
  kTypeBfloat16 = 16,
  kTypeFloat8E4M3FN = 17,
  kTypeFloat8E4M3FNUZ = 18,
  kTypeFloat8E5M2 = 19,
  kTypeFloat8E5M2FNUZ = 20,
  kTypeUint4 = 21,
  kTypeInt4 = 22,
  kTypeFloat4E2M1 = 23,
  kTypeFloat8E8M0 = 24,
  kTypeUint2 = 25,
  kTypeInt2 = 26,
};

}  // namespace precast::tensor
