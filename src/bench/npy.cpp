#include "bench/npy.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>

#include "bench/element.hpp"
#include "bench/npy_dtype.hpp"
#include "bench/npy_header.hpp"
#include "bench/ucs4.hpp"
#include "model/model_facts.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::bench {
namespace {

struct Extent {
  std::uint64_t elements = 0;
  std::uint64_t bytes = 0;
};

Result<Extent> extent_of(const NpyHeader& header, const NpyDtype& dtype, const Place& place) {
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const auto elements = tensor::element_count(header.shape);
  if (!elements || (dtype.item_bytes > 0 && *elements > most / dtype.item_bytes)) {
    return damaged(place,
                   fmt::format("has a shape that is larger than memory can hold: {}", shown_shape(header.shape)));
  }
  // No byte of the file would vouch for them.
  if (dtype.item_bytes == 0 && *elements > 0) {
    return bad(place, fmt::format("has elements of no bytes: dtype {}", shown_text(header.descr)),
               "save the array as text of at least one character (dtype '<U1')");
  }
  return Extent{*elements, *elements * dtype.item_bytes};
}

Result<void> expect_end(ByteSource& source, const NpyHeader& header) {
  std::array<std::byte, 1> more{};
  PRECAST_TRY_ASSIGN(const std::size_t got, source.read(more));
  if (got == 0) return {};
  return bad(source.place(), fmt::format("has more bytes than its shape {} says", shown_shape(header.shape)),
             "save one array in each file");
}

void swap_units(std::vector<std::byte>& bytes, std::size_t unit) {
  if (unit == 0) return;
  for (auto at = bytes.begin(); at != bytes.end(); at += static_cast<std::ptrdiff_t>(unit)) {
    std::reverse(at, at + static_cast<std::ptrdiff_t>(unit));
  }
}

// From the first dimension fastest to the last one fastest.
std::vector<std::byte> to_c_order(const std::vector<std::byte>& bytes, std::span<const std::int64_t> shape,
                                  std::size_t item) {
  struct Axis {
    std::size_t size = 0;
    std::size_t stride = 0;  // in the file
    std::size_t index = 0;
  };
  std::vector<Axis> axes;  // without those of one: a step past the end of many would cost as much each time
  std::size_t stride = item;
  for (const std::int64_t size : shape) {
    if (size != 1) axes.push_back({.size = static_cast<std::size_t>(size), .stride = stride});
    stride *= static_cast<std::size_t>(size);
  }
  std::vector<std::byte> ordered(bytes.size());
  std::size_t from = 0;
  for (std::size_t to = 0; to < ordered.size(); to += item) {
    std::copy_n(&bytes[from], item, &ordered[to]);
    for (std::size_t i = axes.size(); i-- > 0;) {
      Axis& axis = axes[i];
      from += axis.stride;
      if (++axis.index < axis.size) break;
      from -= axis.size * axis.stride;
      axis.index = 0;
    }
  }
  return ordered;
}

Result<std::vector<std::string>> strings_of(std::span<const std::byte> bytes, const NpyDtype& dtype,
                                            std::uint64_t count, const Place& place) {
  std::vector<std::string> strings;
  strings.reserve(static_cast<std::size_t>(count));
  const auto item = static_cast<std::size_t>(dtype.item_bytes);
  for (std::size_t i = 0; i < count; ++i) {
    const auto one = bytes.subspan(i * item, item);
    auto text = dtype.kind == NpyDtype::Kind::characters ? text_of_ucs4(one) : text_of_bytes(one);
    if (!text) {
      return bad(place, fmt::format("has text that is not Unicode: its string {}", i),
                 "save text as str; bytes that are no UTF-8 have no ONNX type");
    }
    strings.push_back(std::move(*text));
  }
  return strings;
}

std::uint64_t product(std::span<const std::int64_t> shape) {
  return tensor::element_count(shape).value_or(0);
}

bool agrees_with_shape(const tensor::Tensor& tensor) {
  if (tensor.element_type == tensor::kTypeString) return tensor.strings.size() == product(tensor.shape);
  return tensor.bytes.size() == tensor::byte_count(tensor.element_type, product(tensor.shape));
}

}  // namespace

Result<StoredTensor> read_npy(ByteSource& source) {
  PRECAST_TRY_ASSIGN(NpyHeader header, read_npy_header(source));
  PRECAST_TRY_ASSIGN(const NpyDtype dtype, parse_npy_dtype(header.descr, source.place()));
  PRECAST_TRY_ASSIGN(const Extent extent, extent_of(header, dtype, source.place()));
  PRECAST_TRY_ASSIGN(std::vector<std::byte> bytes, read_exactly(source, extent.bytes));
  PRECAST_TRY(expect_end(source, header));
  swap_units(bytes, dtype.swap_bytes);
  if (header.fortran_order && header.shape.size() > 1) {
    bytes = to_c_order(bytes, header.shape, static_cast<std::size_t>(dtype.item_bytes));
  }
  if (dtype.element_type == tensor::kTypeBool) normalize_bools(bytes);

  StoredTensor stored{.raw = dtype.kind == NpyDtype::Kind::raw, .path = source.place().path};
  stored.tensor.element_type = dtype.element_type;
  if (dtype.element_type == tensor::kTypeString) {
    PRECAST_TRY_ASSIGN(stored.tensor.strings, strings_of(bytes, dtype, extent.elements, source.place()));
  } else {
    stored.tensor.bytes = std::move(bytes);
  }
  stored.tensor.shape = std::move(header.shape);
  return stored;
}

Result<NpyImage> NpyImage::make(const tensor::Tensor& tensor, const std::string& name) {
  std::string descr(written_dtype(tensor.element_type));
  if (descr.empty()) {
    return fail(ErrorCode::unsupported,
                fmt::format("tensor {} of type {} cannot be written: NumPy's files have nothing to carry it",
                            util::quoted(name), model::dtype_name(tensor.element_type)),
                {}, "cast it inside the model to a type that NumPy has");
  }
  if (!agrees_with_shape(tensor)) {
    return fail(ErrorCode::internal, fmt::format("tensor {} does not hold what its shape {} says", util::quoted(name),
                                                 shown_shape(tensor.shape)));
  }
  NpyImage image(tensor);
  if (tensor.element_type == tensor::kTypeString) {
    auto text = to_ucs4(tensor.strings);
    if (!text) {
      return fail(ErrorCode::bad_input,
                  fmt::format("tensor {} has text that NumPy cannot hold: not UTF-8, or with NUL at its end",
                              util::quoted(name)),
                  {}, "leave this output out");
    }
    descr += std::to_string(text->length);
    image.converted_ = std::move(text->bytes);
  } else if (is_packed(tensor.element_type)) {
    image.converted_ = unpack(tensor.bytes, tensor.element_type, product(tensor.shape));
  }
  image.header_ = format_npy_header(descr, tensor.shape);
  return image;
}

}  // namespace precast::bench
