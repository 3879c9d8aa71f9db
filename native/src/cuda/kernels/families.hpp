// The cuda device's own kernels by families, one in each file: a family compiles its own kinds with
// activations of float or Bfloat16, and has nothing (null) for all others.
#pragma once
#include <memory>

#include "../../device.hpp"
#include "../../kernels/bfloat16.hpp"
#include "../context/context.hpp"

namespace tilefold::cuda {

template <class T>
std::unique_ptr<CompiledKernel> compileAveragePool(const Kernel& kernel, const Context& context);
template <class T>
std::unique_ptr<CompiledKernel> compileClassLoss(const Kernel& kernel, const Context& context);
template <class T>
std::unique_ptr<CompiledKernel> compileClipping(const Kernel& kernel, const Context& context);
template <class T>
std::unique_ptr<CompiledKernel> compileCopyRows(const Kernel& kernel, const Context& context);
template <class T>
std::unique_ptr<CompiledKernel> compileCrossEntropy(const Kernel& kernel, const Context& context);
template <class T>
std::unique_ptr<CompiledKernel> compileExpression(const Kernel& kernel, const Context& context);
template <class T>
std::unique_ptr<CompiledKernel> compileGlobalAveragePool(const Kernel& kernel, const Context& context);
template <class T>
std::unique_ptr<CompiledKernel> compileGlobalMaxPool(const Kernel& kernel, const Context& context);
template <class T>
std::unique_ptr<CompiledKernel> compileImage(const Kernel& kernel, const Context& context);
template <class T>
std::unique_ptr<CompiledKernel> compileMaxPool(const Kernel& kernel, const Context& context);
template <class T>
std::unique_ptr<CompiledKernel> compileMoments(const Kernel& kernel, const Context& context);
template <class T>
std::unique_ptr<CompiledKernel> compileMovement(const Kernel& kernel, const Context& context);
template <class T>
std::unique_ptr<CompiledKernel> compileNormalise(const Kernel& kernel, const Context& context);
template <class T>
std::unique_ptr<CompiledKernel> compileNormaliseBackwardReduce(const Kernel& kernel, const Context& context);
template <class T>
std::unique_ptr<CompiledKernel> compileOptimizer(const Kernel& kernel, const Context& context);
template <class T>
std::unique_ptr<CompiledKernel> compilePixelLoss(const Kernel& kernel, const Context& context);
template <class T>
std::unique_ptr<CompiledKernel> compilePointwise(const Kernel& kernel, const Context& context);
template <class T>
std::unique_ptr<CompiledKernel> compileReorder(const Kernel& kernel, const Context& context);
template <class T>
std::unique_ptr<CompiledKernel> compileResampling(const Kernel& kernel, const Context& context);
template <class T>
std::unique_ptr<CompiledKernel> compileSquaredError(const Kernel& kernel, const Context& context);
template <class T>
std::unique_ptr<CompiledKernel> compileTileBias(const Kernel& kernel, const Context& context);
template <class T>
std::unique_ptr<CompiledKernel> compileValueLoss(const Kernel& kernel, const Context& context);

// Stands behind the definition of a family.
#define TILEFOLD_COMPILES(compileFamily)                                                        \
  template std::unique_ptr<CompiledKernel> compileFamily<float>(const Kernel&, const Context&); \
  template std::unique_ptr<CompiledKernel> compileFamily<Bfloat16>(const Kernel&, const Context&);

}  // namespace tilefold::cuda
