#include "bias_gradient.hpp"

#include "../kernels/rectifier.hpp"
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

template <class T, int n>
struct RectifiedTerms {
  Loaded<T, n> destination, gradient;
};

template <class T>
void sumPassing(const Context& context, const BiasedTile& tile, const T* destination, const T* destinationGradient, T* sourceGradient,
                float* sums) {
  sumChannels<T>(
      context, tile, {destination, destinationGradient, sourceGradient},
      [=] __device__(auto values, std::int64_t i) {
        using Values = Loaded<T, decltype(values)::width>;
        return RectifiedTerms<T, decltype(values)::width>{Values(destination + i), Values(destinationGradient + i)};
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
  sumPassing(context, tile, destination, destinationGradient, sourceGradient, sums);
}

#define TILEFOLD_INSTANTIATE(T)                                                                   \
  template void biasGradient<T>(const Context&, const BiasedTile&, const T*, float*);             \
  template void rectifiedBiasGradient<T>(const Context&, const BiasedTile&, const T*, const T*, T*, float*);
TILEFOLD_INSTANTIATE(float)
TILEFOLD_INSTANTIATE(Bfloat16)
#undef TILEFOLD_INSTANTIATE

}  // namespace tilefold::cuda
