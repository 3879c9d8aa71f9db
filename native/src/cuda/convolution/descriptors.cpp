#include "descriptors.hpp"

#include <array>
#include <limits>

#include "source.hpp"

namespace tilefold::cuda {
namespace {

// The padding before serves on both sides where windows that reach further over the end are none
// the more. Elsewhere the copy is padded (of a rotated convolution it may begin inside the tensor),
// and ends where the last window does.
SourceAxis descriptorAxis(std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t stride, std::int64_t dilation,
                          std::int64_t padBefore) {
  const std::int64_t reach = (kernel - 1) * dilation + 1, slack = in + 2 * padBefore - reach;
  if (padBefore >= 0 && slack >= 0 && slack / stride + 1 == out) return {in, padBefore, padBefore, 0};
  return {(out - 1) * stride + reach, 0, 0, padBefore};
}

int fit(std::int64_t number) {
  if (number > std::numeric_limits<int>::max()) throw Failure("cuDNN's numbers end at 2147483647, before " + std::to_string(number));
  return static_cast<int>(number);
}

// What of cuDNN's descriptors is in int; all four factors are positive.
std::array<int, 4> extents(const char* tensor, std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) {
  const std::int64_t elements = checkedMultiply(checkedMultiply(a, b), checkedMultiply(c, d));
  if (elements > std::numeric_limits<int>::max())
    throw Failure(std::string("cuDNN takes tensors of fewer than 2^31 elements, but the ") + tensor + " has " + std::to_string(elements) +
                  ": tile this convolution");
  return {fit(a), fit(b), fit(c), fit(d)};
}

template <class Object>
Owned<Object, cudnn::Status> created(const Libraries& libraries, cudnn::Status (*create)(Object*), cudnn::Status (*destroy)(Object)) {
  Object object = nullptr;
  libraries.check(create(&object), "creating a descriptor");
  return {object, {destroy}};
}

cudnn::MathType mathOf(const Context& context) {
  if (context.precision == Precision::bf16) return cudnn::MathType::tensorCores;
  return context.math == Math::tf32 ? cudnn::MathType::standard : cudnn::MathType::fma;
}

}  // namespace

ConvolutionDescriptors::ConvolutionDescriptors(const Convolution& c, const Context& context) {
  const auto [rows, columns, copy] = sourceOf(c, descriptorAxis);
  copy_ = copy;
  extents("source", c.batch, c.inChannels, c.inHeight, c.inWidth);
  const auto source = extents("padded source", c.batch, c.inChannels, rows.extent, columns.extent);
  const auto destination = extents("destination", c.batch, c.outChannels, c.outHeight, c.outWidth);
  const auto weights = extents("weight tensor", c.outChannels, c.inChannels / c.groups, c.kernelHeight, c.kernelWidth);

  const Libraries& libraries = *context.libraries;
  const cudnn::Api& dnn = libraries.dnn();
  const auto check = [&](cudnn::Status status) { libraries.check(status, "describing a convolution"); };
  const cudnn::DataType stored = storedType(context);
  const auto format = c.destinationLayout == Layout::nhwc ? cudnn::TensorFormat::nhwc : cudnn::TensorFormat::nchw;
  source_ = created(libraries, dnn.cudnnCreateTensorDescriptor, dnn.cudnnDestroyTensorDescriptor);
  check(dnn.cudnnSetTensor4dDescriptor(source_.get(), format, stored, source[0], source[1], source[2], source[3]));
  destination_ = created(libraries, dnn.cudnnCreateTensorDescriptor, dnn.cudnnDestroyTensorDescriptor);
  check(dnn.cudnnSetTensor4dDescriptor(destination_.get(), format, stored, destination[0], destination[1], destination[2], destination[3]));
  weights_ = created(libraries, dnn.cudnnCreateFilterDescriptor, dnn.cudnnDestroyFilterDescriptor);
  check(dnn.cudnnSetFilter4dDescriptor(weights_.get(), stored, format, weights[0], weights[1], weights[2], weights[3]));
  window_ = created(libraries, dnn.cudnnCreateConvolutionDescriptor, dnn.cudnnDestroyConvolutionDescriptor);
  check(dnn.cudnnSetConvolution2dDescriptor(window_.get(), fit(rows.before), fit(columns.before), fit(c.strideHeight), fit(c.strideWidth),
                                            fit(c.dilationHeight), fit(c.dilationWidth), cudnn::ConvolutionMode::crossCorrelation,
                                            cudnn::DataType::float32));
  check(dnn.cudnnSetConvolutionGroupCount(window_.get(), fit(c.groups)));
  check(dnn.cudnnSetConvolutionMathType(window_.get(), mathOf(context)));

  std::array<int, 4> out{};
  check(dnn.cudnnGetConvolution2dForwardOutputDim(window_.get(), source_.get(), weights_.get(), &out[0], &out[1], &out[2], &out[3]));
  if (out != destination)
    throw Failure("cuDNN's convolution has an output of " + std::to_string(out[2]) + " x " + std::to_string(out[3]) + " instead of " +
                  std::to_string(c.outHeight) + " x " + std::to_string(c.outWidth));
}

}  // namespace tilefold::cuda
