#include "device.hpp"
#include "families.hpp"

namespace tilefold::reference {

template <class T>
std::unique_ptr<CompiledKernel> compile(const Kernel& kernel) {
  using CompileFamily = std::unique_ptr<CompiledKernel> (*)(const Kernel&);
  constexpr CompileFamily families[] = {compileBias<T>,          compileClassLoss<T>,  compileClipping<T>,      compileConvolution<T>,
                                        compileExpression<T>,    compileGlobalPooling<T>, compileImage<T>,      compileLinear<T>,
                                        compileLoss<T>,          compileMovement<T>,   compileNormalisation<T>, compileOptimizer<T>,
                                        compilePadding<T>,       compilePixelLoss<T>,  compilePointwise<T>,     compilePooling<T>,
                                        compileResampling<T>,    compileNormalisedConvolution<T>};
  for (const CompileFamily compileFamily : families)
    if (auto compiled = compileFamily(kernel)) return compiled;
  throw Failure(std::string("the reference device has no kernel ") + kernelInfo(kernel.kind).name);
}
TILEFOLD_COMPILES(compile)

}  // namespace tilefold::reference
