// oneDNN behind a narrow door: memory descriptors without padding, primitives that run on
// addresses, errors as Failure. What differs between oneDNN 2.x and 3.x stands in onednn.cpp.
#pragma once
#include <dnnl.hpp>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "../../kernels/kernel_fields.hpp"

namespace tilefold::cpu {

using Descriptor = dnnl::memory::desc;

// The library that was loaded, such as "2.6.3".
std::string oneDnnVersion();

// oneDNN zeroes channel padding at every launch and refuses more shapes when there is any, so
// padded channels are declared as channels: they are zero in activations and weights alike and stay
// so.
using DataType = dnnl::memory::data_type;
Descriptor activationDescriptor(DataType type, Layout layout, std::int64_t batch, std::int64_t channels, std::int64_t height, std::int64_t width);
// Nothing when oneDNN has no such layout, or its padded channels are not those of the activations.
std::optional<Descriptor> weightDescriptor(DataType type, const Convolution& c);
// Of float.
Descriptor vectorDescriptor(std::int64_t count);

// Seen with 2.6.3 and 3.1.1; 3.7.2 no longer does.
constexpr bool countsIn32Bits = DNNL_VERSION_MAJOR < 3 || (DNNL_VERSION_MAJOR == 3 && DNNL_VERSION_MINOR < 7);

// Of all three directions, each of which reads what it needs. A dilation of 1 is none.
struct ConvolutionDescriptors {
  Descriptor source, weights, bias, destination;
  dnnl::memory::dims strides, dilations, paddingBefore, paddingAfter;
};

// What oneDNN would run: name of the implementation, the scratchpad's bytes.
class Recipe {
 public:
  // `kind` is one of the three convolutions. Nothing when oneDNN has only its slow reference or a
  // matrix product, which allocates; throws dnnl::error where it refuses the shape.
  static std::optional<Recipe> find(KernelKind kind, const ConvolutionDescriptors& convolution);

  std::string name() const { return description_.impl_info_str(); }
  std::size_t scratchBytes() const { return description_.scratchpad_desc().get_size(); }
  const dnnl::primitive_desc_base& description() const { return description_; }

 private:
  explicit Recipe(dnnl_primitive_desc_t description) : description_(description) {}
  dnnl::primitive_desc_base description_;
};

// A primitive and the memory that it is launched on.
class Primitive {
 public:
  // Arguments by DNNL_ARG_*, in the order in which launch takes their addresses.
  Primitive(const Recipe& recipe, const std::vector<std::pair<int, Descriptor>>& arguments);
  void launch(const std::vector<void*>& addresses) const;

 private:
  dnnl::primitive primitive_;
  std::vector<dnnl::memory> memories_;
  std::unordered_map<int, dnnl::memory> arguments_;
};

// Runs `body`; what oneDNN throws becomes a Failure that begins with `what`.
template <class Body>
auto guarded(const char* what, const Body& body) -> decltype(body()) {
  try {
    return body();
  } catch (const dnnl::error& error) {
    throw Failure(std::string(what) + ": oneDNN says '" + error.what() + "'");
  }
}

}  // namespace tilefold::cpu
