#include "graph_descriptor.hpp"

#include <string>

namespace tilefold::cuda {

GraphDescriptor::GraphDescriptor(const Libraries& libraries, cudnn::DescriptorType type) : libraries_(&libraries) {
  cudnn::GraphDescriptor made = nullptr;
  libraries.check(libraries.dnn().cudnnBackendCreateDescriptor(type, &made), "creating a descriptor of a graph");
  descriptor_ = {made, {libraries.dnn().cudnnBackendDestroyDescriptor}};
}

GraphDescriptor& GraphDescriptor::set(cudnn::Attribute attribute, const GraphDescriptor& value) {
  const cudnn::GraphDescriptor raw = value.get();
  return setRaw(attribute, cudnn::AttributeType::descriptor, 1, &raw);
}

GraphDescriptor& GraphDescriptor::set(cudnn::Attribute attribute, const std::vector<GraphDescriptor>& values) {
  std::vector<cudnn::GraphDescriptor> raw;
  for (const GraphDescriptor& value : values) raw.push_back(value.get());
  return setRaw(attribute, cudnn::AttributeType::descriptor, raw.size(), raw.data());
}

GraphDescriptor& GraphDescriptor::setKnobType(std::int64_t type) {
  const int number = static_cast<int>(type);
  return setRaw(cudnn::Attribute::knobChoiceType, cudnn::AttributeType::knobType, 1, &number);
}

void GraphDescriptor::finalise() {
  libraries_->check(libraries_->dnn().cudnnBackendFinalize(descriptor_.get()), "finalising a descriptor of a graph");
}

bool GraphDescriptor::tryFinalise() {
  const cudnn::Status status = libraries_->dnn().cudnnBackendFinalize(descriptor_.get());
  // 2000 to 3999: a parameter or a combination that cuDNN does not have, whatever else goes on.
  if (static_cast<int>(status) / 2000 == 1) return false;
  libraries_->check(status, "finalising a descriptor of a graph");
  return true;
}

std::int64_t GraphDescriptor::integer(cudnn::Attribute attribute) const { return get<std::int64_t>(attribute, 1).at(0); }

std::int64_t GraphDescriptor::knobType() const {
  int type = 0;
  getRaw(cudnn::Attribute::knobChoiceType, cudnn::AttributeType::knobType, 1, &type);
  return type;
}

std::size_t GraphDescriptor::count(cudnn::Attribute attribute) const {
  return getRaw(attribute, cudnn::AttributeType::descriptor, 0, nullptr);
}

std::vector<GraphDescriptor> GraphDescriptor::children(cudnn::Attribute attribute, cudnn::DescriptorType type, std::size_t most) const {
  // cuDNN fills descriptors that its caller made.
  std::vector<GraphDescriptor> found;
  std::vector<cudnn::GraphDescriptor> raw;
  for (std::size_t i = 0; i < most; ++i) raw.push_back(found.emplace_back(*libraries_, type).get());
  const std::size_t filled = most == 0 ? 0 : getRaw(attribute, cudnn::AttributeType::descriptor, most, raw.data());
  while (found.size() > filled) found.pop_back();
  return found;
}

GraphDescriptor& GraphDescriptor::setRaw(cudnn::Attribute attribute, cudnn::AttributeType type, std::size_t count, const void* values) {
  libraries_->check(
      libraries_->dnn().cudnnBackendSetAttribute(descriptor_.get(), attribute, type, static_cast<std::int64_t>(count), values),
      ("setting attribute " + std::to_string(static_cast<int>(attribute)) + " of a graph").c_str());
  return *this;
}

std::size_t GraphDescriptor::getRaw(cudnn::Attribute attribute, cudnn::AttributeType type, std::size_t most, void* values) const {
  std::int64_t count = 0;
  libraries_->check(
      libraries_->dnn().cudnnBackendGetAttribute(descriptor_.get(), attribute, type, static_cast<std::int64_t>(most), &count, values),
      ("reading attribute " + std::to_string(static_cast<int>(attribute)) + " of a graph").c_str());
  return static_cast<std::size_t>(count);
}

}  // namespace tilefold::cuda
