// Convolutions 3x3 of stride 1 by Winograd's F(4x4, 3x3) or F(6x6, 3x3): a quarter of the
// multiplications or a fifth, rounded differently (about 1e-6 of the result's norm). Tiles of
// results go in blocks whose transforms stay in the cache, so scratch is a few MB a thread whatever
// the image's size; weights are transformed beforehand, by reorderWeights to the layout
// winogradForward or winogradBackward of F(4x4, 3x3), winograd6Forward or winograd6Backward of the
// other, or, where few tiles read many, as they are stored, by a kernel of F(4x4, 3x3) itself.
// Gradients of weights take the tiles that have the fewer products.
#pragma once
#include "../operands/launch.hpp"
#include "../operands/strides.hpp"

namespace tilefold::cpu {

// Throws Failure, one sentence, for what these kernels do not do: other kernels, strides, groups
// and layouts than theirs, padding over twice the dilation, channels that are no multiple of 16.
void requireWinograd(KernelKind kind, const Convolution& c);

// These depend on `threads`; the results' bits do not.
std::size_t winogradScratchBytes(KernelKind kind, const Convolution& c, int threads);
// T, of activations: float or Bfloat16; weights and what is computed are float.
template <class T>
Launch compileWinograd(KernelKind kind, const Convolution& c, int threads);

// From any layout but these to one of them.
Launch transformWeights(const WeightReorder& r);
Launch transformSlice(const WeightSlice& s);

}  // namespace tilefold::cpu
