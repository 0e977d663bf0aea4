#include "tensor/generate.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <random>

#include "model/model_facts.hpp"
#include "tensor/element_type.hpp"
#include "tensor/elements.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::tensor {

namespace {

constexpr std::int64_t kChannels = 3;
constexpr std::int64_t kPixels = 224;
constexpr std::int64_t kOther = 128;

using Sizes = std::map<std::string, std::int64_t, std::less<>>;  // of symbolic names

bool has(std::string_view name, std::string_view word) {
  return util::ascii_lower(name).find(word) != std::string::npos;
}

std::string input_text(const InputSpec& input) {
  return "input " + util::quoted(input.name);
}

std::int64_t default_size(const InputSpec& input, std::size_t axis, const std::string& symbol, std::int64_t batch) {
  if (axis == 0) return batch;
  if (has(symbol, "channel")) return kChannels;
  if (has(symbol, "height") || has(symbol, "width")) return kPixels;
  constexpr std::size_t kImageRank = 4;
  if (input.shape.size() == kImageRank) return axis == 1 ? kChannels : kPixels;
  return kOther;
}

Result<void> check_given_shape(const InputSpec& input, const std::vector<std::int64_t>& given) {
  const bool fits = std::ranges::equal(input.shape, given,
                                       [](std::int64_t want, std::int64_t got) { return want < 0 || want == got; });
  // What ORT gives as a scalar may also be an input of which nothing is said: any shape fits that.
  const bool any = input.shape.empty();
  const bool positive = std::ranges::all_of(given, [](std::int64_t size) { return size > 0; });
  if ((fits || any) && positive) return {};
  return fail(
      ErrorCode::bad_input,
      "the shape " + shape_text(given) + " does not fit " + input_text(input) + ", which is " + shape_text(input.shape),
      {}, positive ? "a '?' takes any size" : "sizes are positive");
}

Result<std::vector<std::int64_t>> shape_of(const InputSpec& input, const Wanted& wanted, Sizes& sizes) {
  if (const auto given = wanted.shapes.find(input.name); given != wanted.shapes.end()) {
    PRECAST_TRY(check_given_shape(input, given->second));
    return given->second;
  }
  std::vector<std::int64_t> shape = input.shape;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] >= 0) continue;
    const std::string symbol = axis < input.dimensions.size() ? input.dimensions[axis] : std::string();
    if (symbol.empty()) {
      shape[axis] = default_size(input, axis, symbol, wanted.batch);
    } else {
      shape[axis] = sizes.try_emplace(symbol, default_size(input, axis, symbol, wanted.batch)).first->second;
    }
  }
  return shape;
}

// Whole inputs that are given fix the symbolic sizes of the others.
void learn_sizes(std::span<const InputSpec> inputs, const Wanted& wanted, Sizes& sizes) {
  for (const InputSpec& input : inputs) {
    const auto given = wanted.shapes.find(input.name);
    if (given == wanted.shapes.end() || given->second.size() != input.shape.size()) continue;
    for (std::size_t axis = 0; axis < std::min(input.dimensions.size(), input.shape.size()); ++axis) {
      if (!input.dimensions[axis].empty()) sizes.try_emplace(input.dimensions[axis], given->second[axis]);
    }
  }
}

template <typename Map>
Result<void> check_names(const Map& given, const std::vector<std::string>& there, const std::string& what) {
  for (const auto& [name, value] : given) {
    if (std::ranges::find(there, name) != there.end()) continue;
    return fail(ErrorCode::bad_input, "the model has no " + what + " " + util::quoted(name), {},
                there.empty() ? "it has none at all" : "it has " + util::listed_quoted(there));
  }
  return {};
}

Result<void> check_wanted(std::span<const InputSpec> inputs, const Wanted& wanted) {
  std::vector<std::string> names;
  std::vector<std::string> symbols;
  for (const InputSpec& input : inputs) {
    names.push_back(input.name);
    for (const std::string& symbol : input.dimensions) {
      if (!symbol.empty() && std::ranges::find(symbols, symbol) == symbols.end()) symbols.push_back(symbol);
    }
  }
  PRECAST_TRY(check_names(wanted.shapes, names, "input"));
  PRECAST_TRY(check_names(wanted.ranges, names, "input"));
  PRECAST_TRY(check_names(wanted.dimensions, symbols, "symbolic dimension"));
  for (const auto& [name, size] : wanted.dimensions) {
    if (size > 0) continue;
    return fail(ErrorCode::bad_input, "the size " + std::to_string(size) + " of " + util::quoted(name), {},
                "sizes are positive");
  }
  return {};
}

// The values of one input. Raw words of the engine, no distribution of the library's: those differ between them.
class Filler {
 public:
  Filler(const InputSpec& input, const Wanted& wanted) : input_(input) {
    std::vector<std::uint32_t> words{static_cast<std::uint32_t>(wanted.seed),
                                     static_cast<std::uint32_t>(wanted.seed >> 32U)};
    for (const char c : input.name) words.push_back(static_cast<unsigned char>(c));
    std::seed_seq sequence(words.begin(), words.end());
    engine_.seed(sequence);
    const auto range = wanted.ranges.find(input.name);
    if (range != wanted.ranges.end()) range_ = range->second;
  }

  void fill(Tensor& tensor) {
    const std::uint64_t count = element_count(tensor.shape).value_or(0);
    const Kind kind = kind_of(tensor.element_type);
    if (kind == Kind::text) {
      tensor.strings.reserve(count);
      for (std::uint64_t i = 0; i < count; ++i) tensor.strings.push_back("word" + std::to_string(below(100)));
      return;
    }
    const std::int64_t last = tensor.shape.empty() ? 1 : tensor.shape.back();
    for (std::uint64_t i = 0; i < count; ++i) {
      const double value = kind == Kind::floating ? floating()
                           : kind == Kind::boolean
                               ? static_cast<double>(below(2))
                               : integer(static_cast<std::int64_t>(i % static_cast<std::uint64_t>(last)));
      write_element(tensor, i, encode_element(tensor.element_type, value));
    }
  }

 private:
  double unit() { return static_cast<double>(engine_() >> 11U) * 0x1.0p-53; }
  // The modulo's bias is far below anything that matters here.
  std::uint64_t below(std::uint64_t bound) { return engine_() % bound; }

  double floating() {
    const auto [low, high] = range_.value_or(std::pair{0.0, 1.0});
    return low + unit() * (high - low);
  }

  double integer(std::int64_t position) {
    if (range_) return std::floor(range_->first + unit() * (range_->second - range_->first));
    const std::int64_t limit =
        std::max<std::int64_t>(1, input_.index_limit.value_or(std::numeric_limits<std::int64_t>::max()));
    if (has(input_.name, "mask")) return 1;
    if (has(input_.name, "token_type")) return 0;
    if (has(input_.name, "position")) return static_cast<double>(position % limit);
    return static_cast<double>(below(static_cast<std::uint64_t>(input_.index_limit ? limit : 2)));
  }

  const InputSpec& input_;
  std::mt19937_64 engine_;
  std::optional<std::pair<double, double>> range_;
};

std::optional<std::uint64_t> bytes_in_memory(std::int32_t element_type, std::uint64_t elements) {
  if (element_type != kTypeString) return byte_count(element_type, elements);
  return elements > kMostGeneratedBytes ? std::nullopt : std::optional(elements * sizeof(std::string));
}

Result<void> check_range(const InputSpec& input, const Wanted& wanted) {
  const auto found = wanted.ranges.find(input.name);
  if (found == wanted.ranges.end()) return {};
  const auto [low, high] = found->second;
  if (!std::isfinite(low) || !std::isfinite(high) || low >= high) {
    return fail(ErrorCode::bad_input, "the range of " + input_text(input) + " is empty", {},
                "write NAME=low:high with low < high");
  }
  const Kind kind = kind_of(input.element_type);
  const Bounds bounds = bounds_of(input.element_type);
  const double most = kind == Kind::floating ? bounds.high : bounds.high + 1;  // `high` itself is left out
  if (kind != Kind::text && low >= bounds.low && high <= most) return {};
  char text[96];
  std::snprintf(text, sizeof text, "its type takes %.6g to %.6g", bounds.low, bounds.high);
  return fail(ErrorCode::bad_input,
              "the range of " + input_text(input) + " leaves what " +
                  std::string(model::dtype_name(input.element_type)) + " can hold",
              {}, kind == Kind::text ? "leave the range out: its type takes words" : text);
}

}  // namespace

Result<Tensors> generate_inputs(std::span<const InputSpec> inputs, const Wanted& wanted, std::uint64_t most_bytes) {
  PRECAST_TRY(check_wanted(inputs, wanted));
  Sizes sizes = wanted.dimensions;
  learn_sizes(inputs, wanted, sizes);
  Tensors tensors;
  std::uint64_t total = 0;
  for (const InputSpec& input : inputs) {
    PRECAST_TRY(check_range(input, wanted));
    if (kind_of(input.element_type) == Kind::other) {
      return fail(ErrorCode::bad_input,
                  "nothing can be made up for " + input_text(input) + " (" +
                      (input.element_type == 0 ? std::string("not a tensor")
                                               : std::string(model::dtype_name(input.element_type))) +
                      ")",
                  {},
                  input.element_type == 0 ? "sequences, maps and optionals are not supported as inputs"
                                          : "give it with --input-data");
    }
    Tensor tensor;
    tensor.element_type = input.element_type;
    PRECAST_TRY_ASSIGN(tensor.shape, shape_of(input, wanted, sizes));
    const auto count = element_count(tensor.shape);
    const auto bytes = count ? bytes_in_memory(input.element_type, *count) : std::nullopt;
    if (!bytes || *bytes > most_bytes - total) {
      return fail(ErrorCode::bad_input,
                  input_text(input) + " of the shape " + shape_text(tensor.shape) + " is too large", {},
                  "give smaller sizes");
    }
    total += *bytes;
    if (input.element_type != kTypeString) tensor.bytes.resize(*bytes);
    Filler(input, wanted).fill(tensor);
    tensors.emplace(input.name, std::move(tensor));
  }
  return tensors;
}

}  // namespace precast::tensor
