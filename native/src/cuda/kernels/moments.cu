// Statistics of a tile. Semantics: reference/normalisation.cpp; sums are made in double, of columns
// from a few terms in float32, in an order that the shape and the operands' alignment decide.
#include "../../kernels/normalisation.hpp"
#include "compiled.hpp"
#include "families.hpp"
#include "small_launch.cuh"
#include "statistics_sums.cuh"

namespace tilefold::cuda {
namespace {

template <class T>
void momentsForward(const Context& context, const GroupedTile& t, const T* source, Moments* moments) {
  const StatisticsRows rows(t, t.groups, t.perImage);
  const double count = static_cast<double>(rows.length());
  // Deviations from a row's first value: of data far from zero the mean's square would take the
  // variance's digits.
  forEachRowSum<T, 8>(
      context, "momentsForward", rows, {source}, [=] __device__(const StatisticsRow& row) { return static_cast<float>(source[row.first]); },
      [=] __device__(auto values, std::int64_t i) { return Loaded<T, decltype(values)::width>(source + i); },
      [=] __device__(auto zero, const auto& loaded, std::int64_t, const auto& origin, const auto& add) {
        const auto values = loaded.values();
        for (int k = 0; k < values.width; ++k) {
          const auto apart = static_cast<decltype(zero)>(values[k]) - static_cast<decltype(zero)>(origin(k));
          add(k, apart);
        }
      },
      [=] __device__(const StatisticsRow& row, double sum, double squares) {
        const double apart = sum / count, deviations = squares - sum * apart;
        moments[row.row].merge({count, static_cast<double>(source[row.first]) + apart, deviations < 0 ? 0 : deviations});
      });
}

// Parts of all ranks, in their order.
void mergeMoments(const Context& context, const MergeParts& m, const Moments* source, Moments* moments) {
  forEach(context, "mergeMoments", m.rows, [=] __device__(std::int64_t row) {
    Moments merged;
    for (std::int64_t part = 0; part < m.parts; ++part) merged.merge(source[part * m.rows + row]);
    moments[row] = merged;
  });
}

void addSums(const Context& context, const AddSums& s, const double* source, double* sums) {
  forEach(context, "addSums", s.count, [=] __device__(std::int64_t at) {
    double sum = 0;
    for (std::int64_t part = 0; part < s.parts; ++part) sum += source[part * s.count + at];
    sums[at] = sum;
  });
}

void momentsOfRunning(const Context& context, const ChannelCount& c, const float* mean, const float* variance, Moments* moments) {
  forEach(context, "momentsOfRunning", c.channels, [=] __device__(std::int64_t channel) {
    moments[channel] = {1, static_cast<double>(mean[channel]), static_cast<double>(variance[channel])};
  });
}

struct RunningPart {
  static constexpr const char* name = "updateRunning";
  std::int64_t count, packs;
  const Moments* moments;
  float *mean, *variance;
  double momentum;

  __device__ float mix(float running, double value) const {
    return static_cast<float>((1 - momentum) * static_cast<double>(running) + momentum * value);
  }
  template <class Values>
  __device__ void operator()(Values values, std::int64_t first, const StepOnDevice&) const {
    for (std::int64_t channel = first; channel < first + values.width; ++channel) {
      const Moments& batch = moments[channel];
      mean[channel] = mix(mean[channel], batch.mean);
      variance[channel] = mix(variance[channel], batch.deviations / (batch.count - 1));
    }
  }
};

SmallLaunch updateRunning(const UpdateRunning& u, const Moments* moments, float* mean, float* variance) {
  const std::int64_t bytes = u.channels * static_cast<std::int64_t>(sizeof(float));
  return smallLaunch(RunningPart{u.channels, 0, moments, mean, variance, u.momentum},
                     {{moments, u.channels * static_cast<std::int64_t>(sizeof(Moments))}, {mean, bytes}, {variance, bytes}});
}

}  // namespace

template <class T>
std::unique_ptr<CompiledKernel> compileMoments(const Kernel& kernel, const Context& context) {
  using A = Arguments;
  switch (kernel.kind) {
    case KernelKind::momentsForward:
      return compiled(context,
                      [t = tiled<GroupedTile>(kernel)](const A& a) { momentsForward<T>(a.context, t, a.at<T>(0), a.at<Moments>(1)); });
    case KernelKind::mergeMoments:
      return compiled(context, [m = decode<MergeParts>(kernel)](const A& a) {
        mergeMoments(a.context, m, a.at<Moments>(0), a.at<Moments>(1));
      });
    case KernelKind::addSums:
      return compiled(context,
                      [s = decode<AddSums>(kernel)](const A& a) { addSums(a.context, s, a.at<double>(0), a.at<double>(1)); });
    case KernelKind::momentsOfRunning:
      return compiled(
          context, [c = decode<ChannelCount>(kernel)](const A& a) { momentsOfRunning(a.context, c, a.at(0), a.at(1), a.at<Moments>(2)); });
    case KernelKind::updateRunning:
      return compiledSmall(
          context, [u = decode<UpdateRunning>(kernel)](const A& a) { return updateRunning(u, a.at<Moments>(0), a.at(1), a.at(2)); });
    default:
      return nullptr;
  }
}
TILEFOLD_COMPILES(compileMoments)

}  // namespace tilefold::cuda
