// A convolution as cuDNN's older interface sees it.
#pragma once
#include <optional>

#include "../../kernels/kernel_fields.hpp"
#include "../libraries/libraries.hpp"
#include "pad.hpp"

namespace tilefold::cuda {

class ConvolutionDescriptors {
 public:
  // Throws Failure for tensors of 2^31 elements or more, which these do not take.
  ConvolutionDescriptors(const Convolution& c, const Context& context);

  cudnn::TensorDescriptor source() const { return source_.get(); }
  cudnn::FilterDescriptor weights() const { return weights_.get(); }
  cudnn::ConvolutionDescriptor window() const { return window_.get(); }
  cudnn::TensorDescriptor destination() const { return destination_.get(); }

  // The copy of the source that `source` describes, where that is not the operand itself: cuDNN
  // pads alike on both sides and wants source and destination in one layout.
  const std::optional<PadBox>& copy() const { return copy_; }

 private:
  std::optional<PadBox> copy_;
  Owned<cudnn::TensorDescriptor, cudnn::Status> source_, destination_;
  Owned<cudnn::FilterDescriptor, cudnn::Status> weights_;
  Owned<cudnn::ConvolutionDescriptor, cudnn::Status> window_;
};

}  // namespace tilefold::cuda
