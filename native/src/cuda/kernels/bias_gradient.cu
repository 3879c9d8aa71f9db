#include "bias_gradient.hpp"

#include "../../kernels/rectifier.hpp"
#include "statistics_sums.cuh"

namespace tilefold::cuda {
namespace {

// As many in both, so that a gradient is the same bits however it came about.
constexpr int packsAhead = 4;

template <class T, class Read, class Terms>
void sumChannels(const Context& context, const BiasedTile& t, std::initializer_list<const void*> addresses, const Read& read,
                 const Terms& terms, float* sums) {
  forEachRowSum<T, packsAhead>(
      context, "biasGradient", StatisticsRows(t.layout, t.batch, t.channels, t.pixels, t.channels, false), addresses,
      [=] __device__(const StatisticsRow&) { return 0.0F; }, read, terms,
      [=] __device__(const StatisticsRow& row, double sum, double) { sums[row.group] = static_cast<float>(sum); });
}

// A gradient as it lies.
template <class T>
struct StoredGradient {
  const T* gradient;

  template <int n>
  __device__ Loaded<T, n> operator()(Pack<float, n>, std::int64_t i) const {
    return Loaded<T, n>(gradient + i);
  }
};

// Of one corner of a pool's squares: the gradients of those that won there.
template <class T, int n>
struct CornerGradient {
  Loaded<T, n> gradient;
  Loaded<std::uint8_t, n> winners;
  int corner;

  __device__ Pack<float, n> values() const {
    const Pack<float, n> corners = winners.values();
    Pack<float, n> won = gradient.values();
    for (int k = 0; k < n; ++k) won[k] = static_cast<int>(corners[k]) == corner ? won[k] : 0.0F;
    return won;
  }
};

// The gradient that a pool gives back.
template <class T>
struct GradientOfSquares {
  PooledGradient<T> pooled;
  std::int64_t channels;
  Divisor byChannels, byWidth;

  template <int n>
  __device__ CornerGradient<T, n> operator()(Pack<float, n>, std::int64_t i) const {
    const Division pixel = byChannels(i), row = byWidth(pixel.quotient);
    // Of all images: each has an even number of rows.
    const std::int64_t y = row.quotient, x = row.remainder;
    const std::int64_t square = (y / 2 * (pooled.width / 2) + x / 2) * channels + pixel.remainder;
    return {Loaded<T, n>(pooled.gradient + square), Loaded<std::uint8_t, n>(pooled.winners + square), static_cast<int>(2 * (y % 2) + x % 2)};
  }
};

template <class Decides, class Gradient>
struct RectifiedTerms {
  Decides destination;
  Gradient gradient;
};
template <class Decides, class Gradient>
RectifiedTerms(Decides, Gradient) -> RectifiedTerms<Decides, Gradient>;

template <class T, class Gradients>
void sumPassing(const Context& context, const BiasedTile& tile, std::initializer_list<const void*> addresses, const T* destination,
                const Gradients& gradients, T* sourceGradient, float* sums) {
  sumChannels<T>(
      context, tile, addresses,
      [=] __device__(auto values, std::int64_t i) {
        return RectifiedTerms{Loaded<T, decltype(values)::width>(destination + i), gradients(values, i)};
      },
      // What is visited twice is stored twice: what passed once passes again.
      [=] __device__(auto zero, const auto& loaded, std::int64_t i, const auto&, const auto& add) {
        const auto decides = loaded.destination.values();
        auto passed = loaded.gradient.values();
        for (int k = 0; k < passed.width; ++k) {
          passed[k] = rectified(decides[k], passed[k], 0.0F);
          add(k, static_cast<decltype(zero)>(passed[k]), zero);
        }
        passed.store(sourceGradient + i);
      },
      sums);
}

}  // namespace

template <class T>
void biasGradient(const Context& context, const BiasedTile& tile, const T* gradient, float* sums) {
  sumChannels<T>(
      context, tile, {gradient}, [=] __device__(auto values, std::int64_t i) { return Loaded<T, decltype(values)::width>(gradient + i); },
      [=] __device__(auto zero, const auto& loaded, std::int64_t, const auto&, const auto& add) {
        const auto values = loaded.values();
        for (int k = 0; k < values.width; ++k) add(k, static_cast<decltype(zero)>(values[k]), zero);
      },
      sums);
}

template <class T>
void rectifiedBiasGradient(const Context& context, const BiasedTile& tile, const T* destination, const T* destinationGradient,
                           T* sourceGradient, float* sums) {
  sumPassing(context, tile, {destination, destinationGradient, sourceGradient}, destination, StoredGradient<T>{destinationGradient},
             sourceGradient, sums);
}

template <class T>
void rectifiedBiasGradient(const Context& context, const BiasedTile& tile, const T* destination, const PooledGradient<T>& pooled,
                           T* sourceGradient, float* sums) {
  sumPassing(context, tile, {destination, pooled.gradient, pooled.winners, sourceGradient}, destination,
             GradientOfSquares<T>{pooled, tile.channels, Divisor(tile.channels), Divisor(pooled.width)}, sourceGradient, sums);
}

#define TILEFOLD_INSTANTIATE(T)                                                                              \
  template void biasGradient<T>(const Context&, const BiasedTile&, const T*, float*);                        \
  template void rectifiedBiasGradient<T>(const Context&, const BiasedTile&, const T*, const T*, T*, float*); \
  template void rectifiedBiasGradient<T>(const Context&, const BiasedTile&, const T*, const PooledGradient<T>&, T*, float*);
TILEFOLD_INSTANTIATE(float)
TILEFOLD_INSTANTIATE(Bfloat16)
#undef TILEFOLD_INSTANTIATE

}  // namespace tilefold::cuda
