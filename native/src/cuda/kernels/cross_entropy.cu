// Softmax cross entropy. Semantics: reference/loss.cpp; what is summed is summed in double, row
// after row. A label outside the classes is recorded in context.fault before anything is written,
// and nothing is.
#include "../context/fault.cuh"
#include "compiled.hpp"
#include "element_loop.cuh"
#include "families.hpp"
#include "warp.cuh"

namespace tilefold::cuda {
namespace {

constexpr int rowsAtOnce = 32, lossThreads = warpThreads * rowsAtOnce;  // a warp a row

__device__ bool sound(std::int32_t label, std::int64_t classes) { return label >= 0 && label < classes; }

// Records the first row whose label is no class. The whole block takes part, and every thread
// learns whether there is one.
__device__ bool findWildLabel(std::int64_t batch, std::int64_t classes, const std::int32_t* labels, Fault* fault) {
  __shared__ unsigned long long wild;
  const auto none = static_cast<unsigned long long>(batch);
  if (threadIdx.x == 0) wild = none;
  __syncthreads();
  for (std::int64_t row = threadIdx.x; row < batch; row += lossThreads)
    if (!sound(labels[row], classes)) atomicMin(&wild, static_cast<unsigned long long>(row));
  __syncthreads();
  if (wild == none) return false;
  if (threadIdx.x == 0)
    recordFault(fault, {static_cast<std::int32_t>(FaultKind::label), 0, static_cast<std::int64_t>(wild),
                        labels[static_cast<std::int64_t>(wild)], classes, 0});
  return true;
}

// Of one row: its largest score, the first class that has it, and the sum of exp(score - largest).
struct Softmax {
  double largest, sum;
  std::int64_t best;
};

// Every warp of the block takes the row that it is given, or none (null). As std::max_element: a
// first score that is no number stays the largest, later ones never become it.
template <class T>
__device__ Softmax softmaxOf(const T* scores, std::int64_t classes) {
  __shared__ float values[lossThreads];
  __shared__ std::int64_t places[lossThreads];
  __shared__ double sums[lossThreads];
  const int thread = static_cast<int>(threadIdx.x), lane = thread % warpThreads, first = thread - lane;
  if (scores != nullptr) {
    values[thread] = scores[0];
    places[thread] = 0;
    for (std::int64_t k = lane; k < classes; k += warpThreads) {
      if (!(scores[k] > values[thread])) continue;
      values[thread] = scores[k];
      places[thread] = k;
    }
  }
  __syncthreads();
  for (int half = warpThreads / 2; half > 0; half /= 2) {
    if (scores != nullptr && lane < half) {
      const float other = values[thread + half];
      const std::int64_t place = places[thread + half];
      if (other > values[thread] || (other == values[thread] && place < places[thread])) {
        values[thread] = other;
        places[thread] = place;
      }
    }
    __syncthreads();
  }
  const double largest = scores != nullptr ? static_cast<double>(values[first]) : 0;
  double sum = 0;
  if (scores != nullptr)
    for (std::int64_t k = lane; k < classes; k += warpThreads) sum += exp(static_cast<double>(scores[k]) - largest);
  sums[thread] = sum;
  __syncthreads();
  for (int half = warpThreads / 2; half > 0; half /= 2) {
    if (lane < half) sums[thread] += sums[thread + half];
    __syncthreads();
  }
  return {largest, sums[first], scores != nullptr ? places[first] : 0};
}

__device__ double labelWeightOf(const float* rowWeights, std::int64_t row) {
  return rowWeights == nullptr ? 1 : static_cast<double>(rowWeights[row]);
}

// One block, so that the rows' losses are added in their order whatever the tiles.
template <class T>
__global__ void __launch_bounds__(lossThreads)
    crossEntropyForward(std::int64_t batch, std::int64_t classes, double fullBatch, const T* source, const std::int32_t* labels,
                        const float* rowWeights, double* loss, Fault* fault) {
  __shared__ double rowLosses[rowsAtOnce];
  __shared__ int hits[rowsAtOnce];
  if (findWildLabel(batch, classes, labels, fault)) return;
  const int warp = static_cast<int>(threadIdx.x) / warpThreads;
  for (std::int64_t first = 0; first < batch; first += rowsAtOnce) {
    const std::int64_t row = first + warp;
    const T* scores = row < batch ? source + row * classes : nullptr;
    const Softmax softmax = softmaxOf(scores, classes);
    if (scores != nullptr && threadIdx.x % warpThreads == 0) {
      // Read once more: whoever writes there meanwhile must not lead astray.
      const std::int32_t label = labels[row];
      const double score = sound(label, classes) ? static_cast<double>(scores[label]) : 0;
      rowLosses[warp] = labelWeightOf(rowWeights, row) * (log(softmax.sum) + softmax.largest - score) / fullBatch;
      hits[warp] = softmax.best == label && softmax.largest == softmax.largest ? 1 : 0;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      for (int k = 0; k < rowsAtOnce && first + k < batch; ++k) {
        loss[0] += rowLosses[k];
        loss[1] += hits[k];
      }
    }
    __syncthreads();
  }
}

template <class T>
__global__ void __launch_bounds__(lossThreads)
    crossEntropyBackward(std::int64_t batch, std::int64_t classes, double fullBatch, const T* source, const std::int32_t* labels,
                         const float* rowWeights, T* sourceGradient, Fault* fault) {
  if (findWildLabel(batch, classes, labels, fault)) return;
  for (std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * rowsAtOnce; first < batch;
       first += static_cast<std::int64_t>(gridDim.x) * rowsAtOnce) {
    const std::int64_t row = first + threadIdx.x / warpThreads;
    const T* scores = row < batch ? source + row * classes : nullptr;
    const Softmax softmax = softmaxOf(scores, classes);
    if (scores != nullptr) {
      const double weight = labelWeightOf(rowWeights, row);
      const std::int32_t label = labels[row];
      for (std::int64_t k = threadIdx.x % warpThreads; k < classes; k += warpThreads) {
        const double probability = exp(static_cast<double>(scores[k]) - softmax.largest) / softmax.sum;
        sourceGradient[row * classes + k] = static_cast<T>(weight * (probability - (k == label ? 1 : 0)) / fullBatch);
      }
    }
    __syncthreads();
  }
}

// `rowWeights` may be null.
template <class T>
void softmaxCrossEntropyForward(const Context& context, const CrossEntropy& c, const T* source, const std::int32_t* labels,
                                const float* rowWeights, double* loss) {
  launchKernel(context, "softmaxCrossEntropyForward", crossEntropyForward<T>, 1, lossThreads, c.batch, c.classes,
               static_cast<double>(c.fullBatch), source, labels, rowWeights, loss, context.fault);
}

template <class T>
void softmaxCrossEntropyBackward(const Context& context, const CrossEntropy& c, const T* source, const std::int32_t* labels,
                                 const float* rowWeights, T* sourceGradient) {
  const std::int64_t blocks = std::min<std::int64_t>((c.batch + rowsAtOnce - 1) / rowsAtOnce, context.multiprocessors * 2);
  launchKernel(context, "softmaxCrossEntropyBackward", crossEntropyBackward<T>, blocks, lossThreads, c.batch, c.classes,
               static_cast<double>(c.fullBatch), source, labels, rowWeights, sourceGradient, context.fault);
}

}  // namespace

template <class T>
std::unique_ptr<CompiledKernel> compileCrossEntropy(const Kernel& kernel, const Context& context) {
  using A = Arguments;
  switch (kernel.kind) {
    case KernelKind::softmaxCrossEntropyForward:
      return compiled(context, [c = decode<CrossEntropy>(kernel)](const A& a) {
        softmaxCrossEntropyForward<T>(a.context, c, a.at<T>(0), a.at<std::int32_t>(1), a.at(2), a.at<double>(3));
      });
    case KernelKind::softmaxCrossEntropyBackward:
      return compiled(context, [c = decode<CrossEntropy>(kernel)](const A& a) {
        softmaxCrossEntropyBackward<T>(a.context, c, a.at<T>(0), a.at<std::int32_t>(1), a.at(2), a.at<T>(3));
      });
    default:
      return nullptr;
  }
}
TILEFOLD_COMPILES(compileCrossEntropy)

}  // namespace tilefold::cuda
