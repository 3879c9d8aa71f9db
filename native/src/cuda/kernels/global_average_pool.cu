// Sums over the pixels of a tile, plain or nhwc. Semantics: reference/global_pooling.cpp.
#include "activation.cuh"
#include "compiled.hpp"
#include "families.hpp"
#include "reduction.cuh"

namespace tilefold::cuda {
namespace {

template <class T>
void globalAveragePoolForward(const Context& context, const GlobalAveragePool& s, const T* source, float* sum) {
  const Activation tile(s.layout, s.channels, s.height, s.width);
  const Divisor byChannels(s.channels);
  const double scale = s.scale;
  const auto terms = [=] __device__(std::int64_t output) {
    const Division place = byChannels(output);
    return StridedTerms<T>{source + tile.plane(place.quotient, place.remainder), tile.pixelStride()};
  };
  const auto finish = [=] __device__(std::int64_t output, double total) {
    sum[output] = static_cast<float>(static_cast<double>(sum[output]) + scale * total);
  };
  const std::int64_t outputs = s.batch * s.channels, pixels = s.height * s.width;
  if (tile.channelsLast())
    forEachSum<32>(context, "globalAveragePoolForward", outputs, pixels, terms, finish);
  else
    forEachSum<1>(context, "globalAveragePoolForward", outputs, pixels, terms, finish);
}

template <class T>
void globalAveragePoolBackward(const Context& context, const GlobalAveragePool& s, const T* sumGradient, T* sourceGradient) {
  const Activation tile(s.layout, s.channels, s.height, s.width);
  const std::int64_t channels = s.channels;
  const double scale = s.scale;
  forEachPack<T>(context, "globalAveragePoolBackward", s.batch * s.channels * s.height * s.width, {sourceGradient},
                 [=] __device__(auto values, std::int64_t i) {
                   for (int k = 0; k < values.width; ++k) {
                     const Place at = tile.place(i + k);
                     values[k] = static_cast<float>(scale * static_cast<double>(sumGradient[at.image * channels + at.channel]));
                   }
                   values.store(sourceGradient + i);
                 });
}

}  // namespace

template <class T>
std::unique_ptr<CompiledKernel> compileGlobalAveragePool(const Kernel& kernel, const Context& context) {
  using A = Arguments;
  switch (kernel.kind) {
    case KernelKind::globalAveragePoolForward:
      return compiled(
          context, [s = tiled<GlobalAveragePool>(kernel)](const A& a) { globalAveragePoolForward<T>(a.context, s, a.at<T>(0), a.at(1)); });
    case KernelKind::globalAveragePoolBackward:
      return compiled(context, [s = tiled<GlobalAveragePool>(kernel)](const A& a) {
        globalAveragePoolBackward<T>(a.context, s, a.at<T>(0), a.at<T>(1));
      });
    default:
      return nullptr;
  }
}
TILEFOLD_COMPILES(compileGlobalAveragePool)

}  // namespace tilefold::cuda
