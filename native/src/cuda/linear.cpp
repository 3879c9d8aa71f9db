#include "linear.hpp"

#include <algorithm>
#include <limits>

#include "bias.hpp"
#include "libraries.hpp"

namespace tilefold::cuda {
namespace {

using cublas::Operation;

// A row-major matrix as cuBLAS, which is column-major, reads it: rows and columns change places.
struct Matrix {
  const float* data;
  Operation operation;
  std::int64_t stride;  // elements from row to row
};

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
    const auto at = [&](std::size_t i) { return reinterpret_cast<float*>(operands[i].address); };
    const std::int64_t in = l_.inFeatures, out = l_.outFeatures, batch = l_.batch;
    if (kind_ == KernelKind::linearForward) {
      multiply(batch, out, in, {at(0), Operation::none, in}, {at(1), Operation::transpose, in}, at(3));
      addBiasAndSlope(context_.compute, Layout::plain, batch, out, 1, at(2), 1, at(3));
    } else if (kind_ == KernelKind::linearBackwardData) {
      multiply(batch, in, out, {at(0), Operation::none, out}, {at(1), Operation::none, in}, at(2));
    } else {
      multiply(out, in, batch, {at(1), Operation::transpose, out}, {at(0), Operation::none, in}, at(2));
      if (at(3) != nullptr) biasGradient(context_.compute, Layout::plain, batch, out, 1, at(1), nullptr, at(3));
    }
  }

 private:
  // result [rows, columns] = left [rows, inner] x right [inner, columns], each after its operation.
  void multiply(std::int64_t rows, std::int64_t columns, std::int64_t inner, const Matrix& left, const Matrix& right, float* result) const {
    const Libraries& libraries = *context_.libraries;
    const auto fit = [](std::int64_t number) { return static_cast<int>(number); };
    const float one = 1, zero = 0;
    libraries.check(
        libraries.blas().cublasSgemm_v2(libraries.blasHandle(), right.operation, left.operation, fit(columns), fit(rows), fit(inner), &one,
                                        right.data, fit(right.stride), left.data, fit(left.stride), &zero, result, fit(columns)),
        "a product of matrices");
  }

  KernelKind kind_;
  Linear l_;
  Context context_;
};

}  // namespace

std::unique_ptr<CompiledKernel> compileLinear(KernelKind kind, const Linear& l, const Context& context) {
  if (kind != KernelKind::linearForward && kind != KernelKind::linearBackwardData && kind != KernelKind::linearBackwardWeights)
    throw Failure(std::string(kernelInfo(kind).name) + " is no linear layer");
  return std::make_unique<LinearKernel>(kind, l, context);
}

}  // namespace tilefold::cuda
