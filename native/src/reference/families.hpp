// The kernels of the reference device by families, one in each file: a family compiles its own
// kinds with activations of float, double or Bfloat16, and has nothing (null) for all others.
#pragma once
#include <memory>

#include "../kernels/bfloat16.hpp"
#include "../device.hpp"

namespace tilefold::reference {

template <class T>
std::unique_ptr<CompiledKernel> compileBias(const Kernel& kernel);
template <class T>
std::unique_ptr<CompiledKernel> compileClassLoss(const Kernel& kernel);
template <class T>
std::unique_ptr<CompiledKernel> compileClipping(const Kernel& kernel);
template <class T>
std::unique_ptr<CompiledKernel> compileConvolution(const Kernel& kernel);
template <class T>
std::unique_ptr<CompiledKernel> compileExpression(const Kernel& kernel);
template <class T>
std::unique_ptr<CompiledKernel> compileGlobalPooling(const Kernel& kernel);
template <class T>
std::unique_ptr<CompiledKernel> compileImage(const Kernel& kernel);
template <class T>
std::unique_ptr<CompiledKernel> compileLinear(const Kernel& kernel);
template <class T>
std::unique_ptr<CompiledKernel> compileLoss(const Kernel& kernel);
template <class T>
std::unique_ptr<CompiledKernel> compileMovement(const Kernel& kernel);
template <class T>
std::unique_ptr<CompiledKernel> compileNormalisation(const Kernel& kernel);
template <class T>
std::unique_ptr<CompiledKernel> compileNormalisedConvolution(const Kernel& kernel);
template <class T>
std::unique_ptr<CompiledKernel> compileOptimizer(const Kernel& kernel);
template <class T>
std::unique_ptr<CompiledKernel> compilePadding(const Kernel& kernel);
template <class T>
std::unique_ptr<CompiledKernel> compilePixelLoss(const Kernel& kernel);
template <class T>
std::unique_ptr<CompiledKernel> compilePointwise(const Kernel& kernel);
template <class T>
std::unique_ptr<CompiledKernel> compilePooling(const Kernel& kernel);
template <class T>
std::unique_ptr<CompiledKernel> compileResampling(const Kernel& kernel);

// Stands behind the definition of a family.
#define TILEFOLD_COMPILES(compileFamily)                                         \
  template std::unique_ptr<CompiledKernel> compileFamily<float>(const Kernel&);  \
  template std::unique_ptr<CompiledKernel> compileFamily<double>(const Kernel&); \
  template std::unique_ptr<CompiledKernel> compileFamily<Bfloat16>(const Kernel&);

}  // namespace tilefold::reference
