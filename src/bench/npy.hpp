// One array in NumPy's .npy format.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/source.hpp"
#include "bench/tensor_files.hpp"
#include "precast/error.hpp"
#include "tensor/tensor.hpp"

namespace precast::bench {

// All of the source, to its end: in C order and little-endian, whatever it was. bad_input: see tensor_files.hpp.
[[nodiscard]] Result<StoredTensor> read_npy(ByteSource& source);

// A tensor as the bytes of a file. The tensor must outlive it.
class NpyImage {
 public:
  // bad_input: text that NumPy cannot hold; unsupported: a type that it cannot. Both name the tensor.
  [[nodiscard]] static Result<NpyImage> make(const tensor::Tensor& tensor, const std::string& name);

  [[nodiscard]] const std::string& header() const { return header_; }
  [[nodiscard]] std::span<const std::byte> values() const { return converted_ ? *converted_ : tensor_->bytes; }

 private:
  explicit NpyImage(const tensor::Tensor& tensor) : tensor_(&tensor) {}

  const tensor::Tensor* tensor_;
  std::string header_;
  std::optional<std::vector<std::byte>> converted_;
};

}  // namespace precast::bench
