// A descriptor of cuDNN's graph interface, with what it was given.
#pragma once
#include <cstdint>
#include <vector>

#include "../libraries/libraries.hpp"

namespace tilefold::cuda {

// How cuDNN is told the type of an attribute's values.
template <class Value>
struct AttributeTypeOf;
#define TILEFOLD_ATTRIBUTE(type, name)                                                \
  template <>                                                                         \
  struct AttributeTypeOf<type> {                                                      \
    static constexpr cudnn::AttributeType value = cudnn::AttributeType::name;         \
  };
TILEFOLD_ATTRIBUTE(cudnn::Handle, handle)
TILEFOLD_ATTRIBUTE(cudnn::DataType, dataType)
TILEFOLD_ATTRIBUTE(std::int64_t, int64)
TILEFOLD_ATTRIBUTE(float, float32)
TILEFOLD_ATTRIBUTE(void*, pointer)
TILEFOLD_ATTRIBUTE(cudnn::ConvolutionMode, convolutionMode)
TILEFOLD_ATTRIBUTE(cudnn::HeuristicMode, heuristicMode)
TILEFOLD_ATTRIBUTE(cudnn::NumericalNote, numericalNote)
TILEFOLD_ATTRIBUTE(cudnn::BehaviourNote, behaviourNote)
#undef TILEFOLD_ATTRIBUTE

// Every function throws Failure, naming what was tried, where cuDNN refuses; tryFinalise says no
// where cuDNN does not have what is described.
class GraphDescriptor {
 public:
  GraphDescriptor(const Libraries& libraries, cudnn::DescriptorType type);

  template <class Value>
  GraphDescriptor& set(cudnn::Attribute attribute, const std::vector<Value>& values) {
    return setRaw(attribute, AttributeTypeOf<Value>::value, values.size(), values.data());
  }
  template <class Value>
  GraphDescriptor& set(cudnn::Attribute attribute, Value value) {
    return setRaw(attribute, AttributeTypeOf<Value>::value, 1, &value);
  }
  GraphDescriptor& set(cudnn::Attribute attribute, const GraphDescriptor& value);
  GraphDescriptor& set(cudnn::Attribute attribute, const std::vector<GraphDescriptor>& values);
  // A kind of knob, which cuDNN counts in an enumeration that grows.
  GraphDescriptor& setKnobType(std::int64_t type);
  void finalise();
  bool tryFinalise();

  // As many values as the attribute has, `most` at most.
  template <class Value>
  std::vector<Value> get(cudnn::Attribute attribute, std::size_t most) const {
    std::vector<Value> values(most);
    values.resize(getRaw(attribute, AttributeTypeOf<Value>::value, most, values.data()));
    return values;
  }
  std::int64_t integer(cudnn::Attribute attribute) const;
  std::int64_t knobType() const;
  // Descriptors of one type, `most` at most.
  std::vector<GraphDescriptor> children(cudnn::Attribute attribute, cudnn::DescriptorType type, std::size_t most) const;
  // How many descriptors the attribute has.
  std::size_t count(cudnn::Attribute attribute) const;

  cudnn::GraphDescriptor get() const { return descriptor_.get(); }

 private:
  GraphDescriptor& setRaw(cudnn::Attribute attribute, cudnn::AttributeType type, std::size_t count, const void* values);
  std::size_t getRaw(cudnn::Attribute attribute, cudnn::AttributeType type, std::size_t most, void* values) const;

  const Libraries* libraries_;
  std::unique_ptr<void, Destroy<cudnn::GraphDescriptor, cudnn::Status>> descriptor_;
};

}  // namespace tilefold::cuda
