#include "divisor.cuh"
#include "reduction.cuh"
#include "tile_bias.hpp"

namespace tilefold::cuda {
namespace {

// Channels lie next to each other: always so where a channel has one pixel.
bool channelsLast(const Tile& t) { return t.layout == Layout::nhwc || t.height * t.width == 1; }

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

}  // namespace

template <class T>
void addBias(const Context& context, const Tile& t, const float* bias, T* destination) {
  const std::int64_t pixels = t.height * t.width;
  const Divisor byChannels(t.channels), byTogether(channelsLast(t) ? 1 : pixels);
  forEachPack<T>(context, "addBias", t.batch * t.channels * pixels, {destination}, [=] __device__(auto values, std::int64_t i) {
    values.load(destination + i);
    for (int k = 0; k < values.width; ++k) values[k] += bias[byChannels(byTogether(i + k).quotient).remainder];
    values.store(destination + i);
  });
}

template <class T>
void sumBias(const Context& context, const Tile& t, const T* destinationGradient, float* biasGradient) {
  const std::int64_t pixels = t.height * t.width, channels = t.channels;
  const auto finish = [=] __device__(std::int64_t channel, double sum) { biasGradient[channel] = static_cast<float>(sum); };
  if (channelsLast(t)) {
    const auto terms = [=] __device__(std::int64_t channel) { return StridedTerms<T>{destinationGradient + channel, channels}; };
    return forEachSum<32>(context, "sumBias", channels, t.batch * pixels, terms, finish);
  }
  const Divisor byPixels(pixels);
  const auto terms = [=] __device__(std::int64_t channel) {
    return ChannelTerms<T>{destinationGradient + channel * pixels, channels * pixels, byPixels};
  };
  forEachSum<1>(context, "sumBias", channels, t.batch * pixels, terms, finish);
}

#define TILEFOLD_INSTANTIATE(T)                                            \
  template void addBias<T>(const Context&, const Tile&, const float*, T*); \
  template void sumBias<T>(const Context&, const Tile&, const T*, float*);
TILEFOLD_INSTANTIATE(float)
TILEFOLD_INSTANTIATE(Bfloat16)
#undef TILEFOLD_INSTANTIATE

}  // namespace tilefold::cuda
