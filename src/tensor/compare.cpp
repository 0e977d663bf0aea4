#include "tensor/compare.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "model/model_facts.hpp"
#include "tensor/elements.hpp"

namespace precast::tensor {

namespace {

std::string described(const Tensor& tensor) {
  return std::string(model::dtype_name(tensor.element_type)) + shape_text(tensor.shape);
}

bool are_numbers(const Tensor& tensor) {
  const Kind kind = kind_of(tensor.element_type);
  return kind == Kind::floating || kind == Kind::integer || kind == Kind::boolean;
}

double largest(const ElementReader& values, std::uint64_t count) {
  double most = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const double value = std::fabs(values[i]);
    if (std::isfinite(value)) most = std::max(most, value);
  }
  return most;
}

// Sums of squares and products, of elements divided by the largest: neither 1e200 nor 1e-200 leaves a double's range.
struct Products {
  double unit = 1;
  double aa = 0;
  double bb = 0;
  double ab = 0;

  void add(double a, double b) {
    a /= unit;
    b /= unit;
    aa += a * a;
    bb += b * b;
    ab += a * b;
  }
  [[nodiscard]] double cosine() const {
    if (aa == 0 && bb == 0) return 1;
    if (aa == 0 || bb == 0) return 0;
    return std::clamp(ab / (std::sqrt(aa) * std::sqrt(bb)), -1.0, 1.0);
  }
  [[nodiscard]] double scale() const {
    if (aa == 0 && bb == 0) return 1;
    return bb == 0 ? std::numeric_limits<double>::infinity() : std::sqrt(aa / bb);
  }
};

}  // namespace

bool Difference::agrees() const {
  return mismatch.empty() && not_finite == 0 && cosine >= kLeastCosine && std::fabs(scale - 1) <= kMostScaleOff;
}

std::string Difference::why() const {
  if (!mismatch.empty()) return mismatch;
  if (not_finite > 0) return std::to_string(not_finite) + " elements are not finite";
  if (agrees()) return {};
  char text[96];
  if (cosine >= kLeastCosine) {
    std::snprintf(text, sizeof text, "it is %.4g times as large, not %.1f to %.1f times", scale, 1 - kMostScaleOff,
                  1 + kMostScaleOff);
  } else {
    std::snprintf(text, sizeof text, "the cosine is %.4f, less than %.2f", cosine, kLeastCosine);
  }
  return text;
}

Difference compare(const Tensor& tensor, const Tensor& reference) {
  Difference difference;
  if (tensor.element_type != reference.element_type || tensor.shape != reference.shape) {
    difference.mismatch = "it is " + described(tensor) + " where the reference is " + described(reference);
    return difference;
  }
  if (!are_numbers(reference)) {
    if (tensor != reference) difference.mismatch = "the values are others";
    return difference;
  }
  const std::uint64_t count = element_count(reference.shape).value_or(0);
  const ElementReader values(tensor);
  const ElementReader wanted(reference);
  Products products;
  const double most = std::max(largest(values, count), largest(wanted, count));
  if (most > 0) products.unit = most;
  for (std::uint64_t i = 0; i < count; ++i) {
    const double b = wanted[i];
    if (!std::isfinite(b)) continue;
    const double a = values[i];
    if (!std::isfinite(a)) {
      ++difference.not_finite;
      continue;
    }
    ++difference.compared;
    const double apart = std::fabs(a - b);
    difference.max_abs = std::max(difference.max_abs, apart);
    if (b != 0) difference.max_rel = std::max(difference.max_rel, apart / std::fabs(b));
    products.add(a, b);
  }
  difference.cosine = products.cosine();
  difference.scale = products.scale();
  return difference;
}

Summary summarize(const Tensor& tensor) {
  Summary summary;
  if (!are_numbers(tensor)) return summary;
  const std::uint64_t count = element_count(tensor.shape).value_or(0);
  const ElementReader values(tensor);
  double sum = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const double value = values[i];
    if (!std::isfinite(value)) continue;
    summary.min = summary.counted == 0 ? value : std::min(summary.min, value);
    summary.max = summary.counted == 0 ? value : std::max(summary.max, value);
    sum += value;
    ++summary.counted;
  }
  if (summary.counted > 0) summary.mean = sum / static_cast<double>(summary.counted);
  return summary;
}

}  // namespace precast::tensor
