#include "compile.hpp"

#include "families.hpp"

namespace tilefold::cuda {
namespace {

// With activations of type T.
template <class T>
std::unique_ptr<CompiledKernel> compileFor(const Kernel& kernel, const Context& context) {
  for (const auto compileFamily : {compileAveragePool<T>,
                                   compileClipping<T>,
                                   compileCopyRows<T>,
                                   compileCrossEntropy<T>,
                                   compileExpression<T>,
                                   compileGlobalAveragePool<T>,
                                   compileGlobalMaxPool<T>,
                                   compileImage<T>,
                                   compileMaxPool<T>,
                                   compileMoments<T>,
                                   compileMovement<T>,
                                   compileNormalise<T>,
                                   compileNormaliseBackwardReduce<T>,
                                   compileOptimizer<T>,
                                   compilePixelLoss<T>,
                                   compilePointwise<T>,
                                   compileReorder<T>,
                                   compileResampling<T>,
                                   compileSquaredError<T>,
                                   compileTileBias<T>})
    if (auto compiled = compileFamily(kernel, context)) return compiled;
  throw Failure(std::string("the cuda device has no kernel ") + kernelInfo(kernel.kind).name + " of its own");
}

}  // namespace

std::unique_ptr<CompiledKernel> compileOwn(const Kernel& kernel, const Context& context) {
  return context.precision == Precision::bf16 ? compileFor<Bfloat16>(kernel, context) : compileFor<float>(kernel, context);
}

}  // namespace tilefold::cuda
