// A bias on its own, where no convolution adds it (bias.hpp is of those that do); plain or nhwc.
// Semantics: reference/bias.cpp.
#include "channel_loop.cuh"
#include "compiled.hpp"
#include "divisor.cuh"
#include "families.hpp"
#include "reduction.cuh"

namespace tilefold::cuda {
namespace {

// Channels lie next to each other: always so where a channel has one pixel.
bool isChannelsLast(const Tile& t) { return t.layout == Layout::nhwc || t.height * t.width == 1; }

// Of all images: the elements of a channel of plain lie a plane at a time.
template <class T>
struct ChannelTerms {
  const T* first;
  std::int64_t imageStride;
  Divisor byPixels;

  __device__ double operator()(std::int64_t k) const {
    const Division place = byPixels(k);
    return static_cast<double>(first[place.quotient * imageStride + place.remainder]);
  }
};

template <class T>
void addBias(const Context& context, const Tile& t, const float* bias, T* destination) {
  forEachOfChannels<T, 3>(
      context, "addBias", t, false, {destination}, [=] __device__(std::int64_t, std::int64_t channel) { return bias[channel]; },
      [=] __device__(auto values, std::int64_t i) { return Loaded<T, decltype(values)::width>(destination + i); },
      [=] __device__(const auto& loaded, std::int64_t i, const auto& biasOf) {
        auto values = loaded.values();
        for (int k = 0; k < values.width; ++k) values[k] += biasOf(k);
        values.store(destination + i);
      });
}

template <class T>
void sumBias(const Context& context, const Tile& t, const T* destinationGradient, float* biasGradient) {
  const std::int64_t pixels = t.height * t.width, channels = t.channels;
  const auto finish = [=] __device__(std::int64_t channel, double sum) { biasGradient[channel] = static_cast<float>(sum); };
  if (isChannelsLast(t)) {
    const auto terms = [=] __device__(std::int64_t channel) { return StridedTerms<T>{destinationGradient + channel, channels}; };
    return forEachSum<32>(context, "sumBias", channels, t.batch * pixels, terms, finish);
  }
  const Divisor byPixels(pixels);
  const auto terms = [=] __device__(std::int64_t channel) {
    return ChannelTerms<T>{destinationGradient + channel * pixels, channels * pixels, byPixels};
  };
  forEachSum<1>(context, "sumBias", channels, t.batch * pixels, terms, finish);
}

}  // namespace

template <class T>
std::unique_ptr<CompiledKernel> compileTileBias(const Kernel& kernel, const Context& context) {
  using A = Arguments;
  switch (kernel.kind) {
    case KernelKind::addBias:
      return compiled(context, [t = tiled<Tile>(kernel)](const A& a) { addBias<T>(a.context, t, a.at(0), a.at<T>(1)); });
    case KernelKind::sumBias:
      return compiled(context, [t = tiled<Tile>(kernel)](const A& a) { sumBias<T>(a.context, t, a.at<T>(0), a.at(1)); });
    default:
      return nullptr;
  }
}
TILEFOLD_COMPILES(compileTileBias)

}  // namespace tilefold::cuda
