#include "linear.hpp"

#include <algorithm>
#include <limits>

#include "../libraries/libraries.hpp"
#include "bias.hpp"
#include "bias_gradient.hpp"

namespace tilefold::cuda {
namespace {

using cublas::Operation;

// A row-major matrix as cuBLAS, which is column-major, reads it: rows and columns change places.
template <class T>
struct Matrix {
  const T* data;
  Operation operation;
  std::int64_t stride;  // elements from row to row
};

template <class T>
constexpr cublas::DataType typeOf = std::is_same_v<T, Bfloat16> ? cublas::DataType::bfloat16 : cublas::DataType::float32;

cublas::ComputeType computeTypeOf(const Context& context) {
  if (context.precision == Precision::bf16) return cublas::ComputeType::float32;
  return context.math == Math::tf32 ? cublas::ComputeType::tf32 : cublas::ComputeType::pedanticFloat32;
}

// Of activations of type T.
template <class T>
class LinearKernel : public CompiledKernel {
 public:
  LinearKernel(KernelKind kind, const Linear& l, const Context& context) : kind_(kind), l_(l), context_(context) {
    for (const std::int64_t elements : {checkedMultiply(l.batch, l.inFeatures), checkedMultiply(l.batch, l.outFeatures),
                                        std::max({l.batch, l.inFeatures, l.outFeatures})})
      if (elements > std::numeric_limits<int>::max())
        throw Failure("a linear layer on the cuda device has inputs and outputs of fewer than 2^31 elements, not " +
                      std::to_string(elements) + ": give a smaller batch");
  }

  void launch(const std::vector<Operand>& operands, const StepParameters&) override {
    const auto at = [&](std::size_t i) { return reinterpret_cast<T*>(operands[i].address); };
    const auto parameters = [&](std::size_t i) { return reinterpret_cast<float*>(operands[i].address); };
    const std::int64_t in = l_.inFeatures, out = l_.outFeatures, batch = l_.batch;
    if (kind_ == KernelKind::linearForward) {
      multiply(batch, out, in, {at(0), Operation::none, in}, {at(1), Operation::transpose, in}, at(3));
      addBiasAndSlope(context_.compute, Layout::plain, batch, out, 1, parameters(2), 1, at(3));
    } else if (kind_ == KernelKind::linearBackwardData) {
      multiply(batch, in, out, {at(0), Operation::none, out}, {at(1), Operation::none, in}, at(2));
    } else {
      multiply(out, in, batch, {at(1), Operation::transpose, out}, {at(0), Operation::none, in}, parameters(2));
      if (parameters(3) != nullptr) biasGradient<T>(context_, {Layout::plain, batch, out, 1}, at(1), parameters(3));
    }
  }

 private:
  // result [rows, columns] = left [rows, inner] x right [inner, columns], each after its operation.
  template <class Result>
  void multiply(std::int64_t rows, std::int64_t columns, std::int64_t inner, const Matrix<T>& left, const Matrix<T>& right,
                Result* result) const {
    const Libraries& libraries = *context_.libraries;
    const auto fit = [](std::int64_t number) { return static_cast<int>(number); };
    const float one = 1, zero = 0;
    libraries.check(
        libraries.blas().cublasGemmEx(libraries.blasHandle(), right.operation, left.operation, fit(columns), fit(rows), fit(inner), &one,
                                      right.data, typeOf<T>, fit(right.stride), left.data, typeOf<T>, fit(left.stride), &zero, result,
                                      typeOf<Result>, fit(columns), computeTypeOf(context_), cublas::GemmAlgorithm::standard),
        "a product of matrices");
  }

  KernelKind kind_;
  Linear l_;
  Context context_;
};

}  // namespace

std::unique_ptr<CompiledKernel> compileLinear(KernelKind kind, const Linear& l, const Context& context) {
  if (!isLinear(kind)) throw Failure(std::string(kernelInfo(kind).name) + " is no linear layer");
  if (context.precision == Precision::bf16) return std::make_unique<LinearKernel<Bfloat16>>(kind, l, context);
  return std::make_unique<LinearKernel<float>>(kind, l, context);
}

}  // namespace tilefold::cuda
