#include "tensor/tensor.hpp"

#include <limits>

#include "model/dtype.hpp"

namespace precast::tensor {

namespace {

constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());

}  // namespace

std::optional<std::uint64_t> element_count(std::span<const std::int64_t> shape) {
  std::uint64_t count = 1;
  bool empty = false;
  for (const std::int64_t size : shape) {
    if (size < 0) return std::nullopt;
    if (size == 0) {
      empty = true;
    } else if (count > kMost / static_cast<std::uint64_t>(size)) {
      return std::nullopt;
    } else {
      count *= static_cast<std::uint64_t>(size);
    }
  }
  return empty ? 0 : count;
}

std::optional<std::uint64_t> byte_count(std::int32_t element_type, std::uint64_t elements) {
  const std::uint64_t bits = model::element_bits(element_type);
  if (bits == 0 || elements > (kMost - 7) / bits) return std::nullopt;
  return (elements * bits + 7) / 8;
}

std::string shape_text(std::span<const std::int64_t> shape) {
  std::string text = "[";
  for (const std::int64_t size : shape) {
    if (text.size() > 1) text += ", ";
    text += size < 0 ? "?" : std::to_string(size);
  }
  return text + "]";
}

}  // namespace precast::tensor
