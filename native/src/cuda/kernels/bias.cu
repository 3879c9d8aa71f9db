#include "bias.hpp"

#include <limits>
#include <type_traits>

#include "../../kernels/rectifier.hpp"
#include "element_loop.cuh"
#include "grid.cuh"

namespace tilefold::cuda {
namespace {

template <class T>
constexpr int together = packBytes / sizeof(T);  // elements of one access

// Channels innermost: always so where a channel has one pixel.
bool innermost(Layout layout, std::int64_t pixels) { return layout == Layout::nhwc || pixels == 1; }

// `count` packs of n elements: of channels where `acrossChannels` holds, else `perChannel` packs of
// a channel lie next to each other, those of `channels` channels one after another. Single elements
// may be more than 32 bits count.
template <int n, bool acrossChannels, class T>
__global__ void addBias(T* values, const float* bias, float slope, std::uint32_t channels, std::uint32_t perChannel, std::uint64_t count) {
  using Index = std::conditional_t<n == 1, std::uint64_t, std::uint32_t>;
  for (std::uint64_t i = firstIndex(); i < count; i += indexStep()) {
    const auto index = static_cast<Index>(i);
    const auto channel = static_cast<std::uint32_t>(acrossChannels ? index % (channels / n) * n : index / perChannel % channels);
    Pack<float, n> pack, biases{};
    pack.load(values + i * n);
    if (bias != nullptr) {
      if constexpr (acrossChannels) {
        biases.load(bias + channel);
      } else {
        const float one = bias[channel];
        for (int k = 0; k < n; ++k) biases[k] = one;
      }
    }
    for (int k = 0; k < n; ++k) pack[k] = rectified(pack[k] + biases[k], slope);
    pack.store(values + i * n);
  }
}

}  // namespace

template <class T>
void addBiasAndSlope(cudaStream_t stream, Layout layout, std::int64_t batch, std::int64_t channels, std::int64_t pixels,
                     const float* biasOrNull, double slope, T* values) {
  if (biasOrNull == nullptr && slope == 1) return;
  const std::int64_t elements = batch * channels * pixels;
  const bool acrossChannels = innermost(layout, pixels);
  const std::int64_t whole = acrossChannels ? channels : pixels;
  const auto launch = [&](auto kernel, int n) {
    launchGrid(stream, "adding a bias", kernel, blocksFor(elements / n), threads, values, biasOrNull, static_cast<float>(slope),
               static_cast<std::uint32_t>(channels), static_cast<std::uint32_t>(acrossChannels ? 1 : pixels / n),
               static_cast<std::uint64_t>(elements / n));
  };
  if (whole % together<T> != 0 || !aligned({values, biasOrNull}) || elements / together<T> > std::numeric_limits<std::uint32_t>::max())
    launch(addBias<1, false, T>, 1);
  else if (acrossChannels)
    launch(addBias<together<T>, true, T>, together<T>);
  else
    launch(addBias<together<T>, false, T>, together<T>);
}

#define TILEFOLD_INSTANTIATE(T)                                                                                               \
  template void addBiasAndSlope<T>(cudaStream_t, Layout, std::int64_t, std::int64_t, std::int64_t, const float*, double, T*);
TILEFOLD_INSTANTIATE(float)
TILEFOLD_INSTANTIATE(Bfloat16)
#undef TILEFOLD_INSTANTIATE

}  // namespace tilefold::cuda
