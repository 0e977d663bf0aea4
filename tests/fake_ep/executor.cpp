#include "executor.hpp"

#include <algorithm>
#include <map>
#include <string_view>

#include "error.hpp"

namespace precast::fake_ep {
namespace {

using Shape = std::vector<std::int64_t>;

TensorView view(const Tensor& tensor) {
  return {tensor.shape, tensor.values};
}

std::size_t element_count(std::span<const std::int64_t> shape) {
  std::size_t count = 1;
  for (const auto extent : shape) count *= static_cast<std::size_t>(extent);
  return count;
}

[[noreturn]] void shapes_do_not_fit(std::string_view op) {
  throw EpError(std::string(op) + ": the shapes of the inputs do not fit", ORT_INVALID_ARGUMENT);
}

Shape broadcast_shape(std::span<const std::int64_t> a, std::span<const std::int64_t> b, std::string_view op) {
  Shape shape(std::max(a.size(), b.size()), 1);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const auto x = i < a.size() ? a[a.size() - 1 - i] : 1;
    const auto y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) shapes_do_not_fit(op);
    shape[shape.size() - 1 - i] = x == 1 ? y : x;
  }
  return shape;
}

// Steps, in elements, of a tensor that is broadcast to `shape`: 0 where its extent is 1.
Shape broadcast_strides(std::span<const std::int64_t> own, const Shape& shape) {
  Shape strides(shape.size(), 0);
  std::int64_t step = 1;
  for (std::size_t i = 0; i < own.size(); ++i) {
    const auto extent = own[own.size() - 1 - i];
    if (extent != 1) strides[shape.size() - 1 - i] = step;
    step *= extent;
  }
  return strides;
}

// Calls visit(offset in a, offset in b) for each element of `shape`, in order.
template <typename Visit>
void for_each_pair(const Shape& shape, const Shape& a, const Shape& b, Visit visit) {
  Shape index(shape.size(), 0);
  std::int64_t at_a = 0;
  std::int64_t at_b = 0;
  for (std::size_t left = element_count(shape); left > 0; --left) {
    visit(static_cast<std::size_t>(at_a), static_cast<std::size_t>(at_b));
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      at_a += a[axis];
      at_b += b[axis];
      if (++index[axis] < shape[axis]) break;
      at_a -= a[axis] * shape[axis];
      at_b -= b[axis] * shape[axis];
      index[axis] = 0;
    }
  }
}

template <typename Combine>
Tensor elementwise(TensorView a, TensorView b, std::string_view op, Combine combine) {
  Tensor result{broadcast_shape(a.shape, b.shape, op), {}};
  result.values.reserve(element_count(result.shape));
  for_each_pair(result.shape, broadcast_strides(a.shape, result.shape), broadcast_strides(b.shape, result.shape),
                [&](std::size_t i, std::size_t j) { result.values.push_back(combine(a.values[i], b.values[j])); });
  return result;
}

struct Matrix {
  std::span<const float> values;
  std::size_t rows;
  std::size_t columns;
};

void multiply(const Matrix& a, const Matrix& b, std::span<float> out) {
  for (std::size_t row = 0; row < a.rows; ++row) {
    const auto target = out.subspan(row * b.columns, b.columns);
    for (std::size_t k = 0; k < a.columns; ++k) {
      const float factor = a.values[row * a.columns + k];
      const auto source = b.values.subspan(k * b.columns, b.columns);
      for (std::size_t column = 0; column < b.columns; ++column) target[column] += factor * source[column];
    }
  }
}

Tensor mat_mul(TensorView a, TensorView b) {
  if (a.shape.size() < 2 || b.shape.size() < 2) shapes_do_not_fit("MatMul");
  const auto batch_a = a.shape.first(a.shape.size() - 2);
  const auto batch_b = b.shape.first(b.shape.size() - 2);
  const auto rows = static_cast<std::size_t>(a.shape[a.shape.size() - 2]);
  const auto inner = static_cast<std::size_t>(a.shape.back());
  const auto columns = static_cast<std::size_t>(b.shape.back());
  if (b.shape[b.shape.size() - 2] != a.shape.back()) shapes_do_not_fit("MatMul");
  const Shape batch = broadcast_shape(batch_a, batch_b, "MatMul");
  Tensor result{batch, {}};
  result.shape.push_back(a.shape[a.shape.size() - 2]);
  result.shape.push_back(b.shape.back());
  result.values.resize(element_count(result.shape));
  std::span<float> out = result.values;
  for_each_pair(
      batch, broadcast_strides(batch_a, batch), broadcast_strides(batch_b, batch), [&](std::size_t i, std::size_t j) {
        multiply({a.values.subspan(i * rows * inner, rows * inner), rows, inner},
                 {b.values.subspan(j * inner * columns, inner * columns), inner, columns}, out.first(rows * columns));
        out = out.subspan(rows * columns);
      });
  return result;
}

Tensor transposed(TensorView matrix) {
  const auto rows = static_cast<std::size_t>(matrix.shape[0]);
  const auto columns = static_cast<std::size_t>(matrix.shape[1]);
  Tensor result{{matrix.shape[1], matrix.shape[0]}, std::vector<float>(matrix.values.size())};
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t column = 0; column < columns; ++column) {
      result.values[column * rows + row] = matrix.values[row * columns + column];
    }
  }
  return result;
}

Tensor gemm(const Operation& operation, TensorView a, TensorView b, const TensorView* c) {
  if (a.shape.size() != 2 || b.shape.size() != 2) shapes_do_not_fit("Gemm");
  Tensor turned_a;
  Tensor turned_b;
  if (operation.transpose_a) a = view(turned_a = transposed(a));
  if (operation.transpose_b) b = view(turned_b = transposed(b));
  Tensor result = mat_mul(a, b);
  for (float& value : result.values) value *= operation.alpha;
  if (c == nullptr) return result;
  return elementwise(view(result), *c, "Gemm", [&](float x, float y) { return x + operation.beta * y; });
}

Tensor relu(TensorView input) {
  Tensor result{{input.shape.begin(), input.shape.end()}, {input.values.begin(), input.values.end()}};
  for (float& value : result.values) value = std::max(value, 0.0F);
  return result;
}

Tensor run_operation(const Operation& operation, std::span<const TensorView* const> inputs) {
  const TensorView& a = *inputs[0];
  if (operation.op == "Relu") return relu(a);
  const TensorView& b = *inputs[1];
  if (operation.op == "MatMul") return mat_mul(a, b);
  if (operation.op == "Gemm") return gemm(operation, a, b, inputs.size() > 2 ? inputs[2] : nullptr);
  if (operation.op == "Add") return elementwise(a, b, "Add", [](float x, float y) { return x + y; });
  if (operation.op == "Mul") return elementwise(a, b, "Mul", [](float x, float y) { return x * y; });
  throw EpError("there is no operation " + operation.op);
}

}  // namespace

std::vector<Tensor> execute(const Program& program, std::span<const TensorView> inputs) {
  std::map<std::string, TensorView, std::less<>> known;
  std::map<std::string, Tensor, std::less<>> computed;
  for (const auto& [name, tensor] : program.constants) known[name] = view(tensor);
  for (std::size_t i = 0; i < program.inputs.size(); ++i) known[program.inputs[i]] = inputs[i];
  for (const Operation& operation : program.operations) {
    std::vector<const TensorView*> arguments;
    for (const std::string& name : operation.inputs) {
      if (name.empty()) continue;
      const auto found = known.find(name);
      if (found == known.end()) throw EpError("nothing produces '" + name + "'");
      arguments.push_back(&found->second);
    }
    if (arguments.size() < (operation.op == "Relu" ? 1U : 2U)) throw EpError(operation.op + " has too few inputs");
    Tensor& result = computed[operation.output];
    result = run_operation(operation, arguments);
    known[operation.output] = view(result);
  }
  std::vector<Tensor> outputs;
  for (const std::string& name : program.outputs) {
    const auto found = computed.find(name);
    if (found == computed.end()) throw EpError("nothing produces the output '" + name + "'");
    Tensor output = found->second;
    for (float& value : output.values) value *= program.output_scale;
    outputs.push_back(std::move(output));
  }
  return outputs;
}

}  // namespace precast::fake_ep
