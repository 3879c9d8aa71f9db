// cuDNN's three directions of a convolution behind one interface: forward, to the source's
// gradient, to the weights' gradient.
#pragma once
#include <array>

#include "descriptors.hpp"
#include "tensors.hpp"

namespace tilefold::cuda {

// Each direction has: the kind of kernel; Algorithm; `direct`, the algorithms that sum products as
// they stand, the first of which is algorithm 0 where cuDNN has it; whether an algorithm adds with
// atomics, in no fixed order; the positions of its operands (-1: none); cuDNN's functions.

struct ForwardConvolution {
  static constexpr KernelKind kind = KernelKind::convolutionForward;
  using Algorithm = cudnn::ForwardAlgorithm;
  static constexpr std::array direct{Algorithm::implicitPrecomputedGemm, Algorithm::implicitGemm, Algorithm::gemm};
  static constexpr bool atomic(Algorithm) { return false; }
  static constexpr int sourceAt = 0, weightsAt = 1, biasAt = 2, destinationAt = 3, scratchAt = 4;
  static constexpr bool readsSource = true;

  static cudnn::Status heuristics(const Libraries& l, const ConvolutionDescriptors& d, int requested, int* returned,
                                  cudnn::Performance<Algorithm>* results) {
    return l.dnn().cudnnGetConvolutionForwardAlgorithm_v7(l.dnnHandle(), d.source(), d.weights(), d.window(), d.destination(), requested,
                                                          returned, results);
  }
  static cudnn::Status workspace(const Libraries& l, const ConvolutionDescriptors& d, Algorithm algorithm, std::size_t* bytes) {
    return l.dnn().cudnnGetConvolutionForwardWorkspaceSize(l.dnnHandle(), d.source(), d.weights(), d.window(), d.destination(), algorithm,
                                                           bytes);
  }
  static cudnn::Status launch(const Libraries& l, const ConvolutionDescriptors& d, Algorithm algorithm, const ConvolutionTensors& t) {
    const float one = 1, zero = 0;
    return l.dnn().cudnnConvolutionForward(l.dnnHandle(), &one, d.source(), t.source, d.weights(), t.weights, d.window(), algorithm,
                                           t.workspace, t.workspaceBytes, &zero, d.destination(), t.destination);
  }
};

struct BackwardDataConvolution {
  static constexpr KernelKind kind = KernelKind::convolutionBackwardData;
  using Algorithm = cudnn::BackwardDataAlgorithm;
  static constexpr std::array direct{Algorithm::implicitGemm};
  static constexpr bool atomic(Algorithm algorithm) { return algorithm == Algorithm::atomic; }
  static constexpr int destinationAt = 0, weightsAt = 1, sourceAt = 2, scratchAt = 3, biasAt = -1;
  static constexpr bool readsSource = false;

  static cudnn::Status heuristics(const Libraries& l, const ConvolutionDescriptors& d, int requested, int* returned,
                                  cudnn::Performance<Algorithm>* results) {
    return l.dnn().cudnnGetConvolutionBackwardDataAlgorithm_v7(l.dnnHandle(), d.weights(), d.destination(), d.window(), d.source(),
                                                               requested, returned, results);
  }
  static cudnn::Status workspace(const Libraries& l, const ConvolutionDescriptors& d, Algorithm algorithm, std::size_t* bytes) {
    return l.dnn().cudnnGetConvolutionBackwardDataWorkspaceSize(l.dnnHandle(), d.weights(), d.destination(), d.window(), d.source(),
                                                                algorithm, bytes);
  }
  static cudnn::Status launch(const Libraries& l, const ConvolutionDescriptors& d, Algorithm algorithm, const ConvolutionTensors& t) {
    const float one = 1, zero = 0;
    return l.dnn().cudnnConvolutionBackwardData(l.dnnHandle(), &one, d.weights(), t.weights, d.destination(), t.destination, d.window(),
                                                algorithm, t.workspace, t.workspaceBytes, &zero, d.source(), t.source);
  }
};

struct BackwardWeightsConvolution {
  static constexpr KernelKind kind = KernelKind::convolutionBackwardWeights;
  using Algorithm = cudnn::BackwardFilterAlgorithm;
  static constexpr std::array direct{Algorithm::implicitGemm};
  static constexpr bool atomic(Algorithm algorithm) { return algorithm == Algorithm::atomic || algorithm == Algorithm::atomicPrecomputed; }
  static constexpr int sourceAt = 0, destinationAt = 1, weightsAt = 2, biasAt = 3, scratchAt = 4;
  static constexpr bool readsSource = true;

  static cudnn::Status heuristics(const Libraries& l, const ConvolutionDescriptors& d, int requested, int* returned,
                                  cudnn::Performance<Algorithm>* results) {
    return l.dnn().cudnnGetConvolutionBackwardFilterAlgorithm_v7(l.dnnHandle(), d.source(), d.destination(), d.window(), d.weights(),
                                                                 requested, returned, results);
  }
  static cudnn::Status workspace(const Libraries& l, const ConvolutionDescriptors& d, Algorithm algorithm, std::size_t* bytes) {
    return l.dnn().cudnnGetConvolutionBackwardFilterWorkspaceSize(l.dnnHandle(), d.source(), d.destination(), d.window(), d.weights(),
                                                                  algorithm, bytes);
  }
  static cudnn::Status launch(const Libraries& l, const ConvolutionDescriptors& d, Algorithm algorithm, const ConvolutionTensors& t) {
    const float one = 1, zero = 0;
    return l.dnn().cudnnConvolutionBackwardFilter(l.dnnHandle(), &one, d.source(), t.source, d.destination(), t.destination, d.window(),
                                                  algorithm, t.workspace, t.workspaceBytes, &zero, d.weights(), t.weights);
  }
};

// body(Direction{}) for the kernel's.
template <class Body>
auto withDirection(KernelKind kind, const Body& body) {
  switch (kind) {
    case KernelKind::convolutionForward:
      return body(ForwardConvolution{});
    case KernelKind::convolutionBackwardData:
      return body(BackwardDataConvolution{});
    case KernelKind::convolutionBackwardWeights:
      return body(BackwardWeightsConvolution{});
    default:
      throw Failure(std::string(kernelInfo(kind).name) + " is no convolution");
  }
}

}  // namespace tilefold::cuda
