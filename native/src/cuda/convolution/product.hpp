// The products and sums of a convolution, by one of cuDNN's two interfaces or a kernel of our own,
// in the place of the padding, biases and rectifiers that are ours.
#pragma once
#include <memory>
#include <optional>

#include "../../kernels/kernel_fields.hpp"
#include "../context/context.hpp"
#include "pad.hpp"
#include "tensors.hpp"

namespace tilefold::cuda {

class ConvolutionProduct {
 public:
  ConvolutionProduct() = default;
  virtual ~ConvolutionProduct() = default;
  ConvolutionProduct(const ConvolutionProduct&) = delete;
  ConvolutionProduct& operator=(const ConvolutionProduct&) = delete;

  // The copy of the source that it reads or writes, where that is not the operand itself.
  virtual const std::optional<PadBox>& copy() const = 0;
  virtual std::size_t workspaceBytes() const = 0;
  // Whether a gradient of weights is float32 where tensors are bf16.
  virtual bool writesFloat() const { return false; }
  // Whether it adds the bias of a forward convolution and rectifies.
  virtual bool finishes() const { return false; }
  // Enqueues.
  virtual void launch(const ConvolutionTensors& tensors) = 0;
};

// Of the algorithm that the field names; `kind` is one of the three convolutions. Throws Failure
// for layouts and algorithms that cuDNN or this device does not have.
std::unique_ptr<ConvolutionProduct> makeProduct(KernelKind kind, const Convolution& c, const Context& context);

// Throws Failure for layouts that this device does not convolve.
void requireLayouts(const Convolution& c);

}  // namespace tilefold::cuda
