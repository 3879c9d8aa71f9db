// A descriptor of the emulated graph interface: its attributes as they were set, and its parts.
#pragma once
#include <cstddef>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "../../src/cuda/libraries/cudnn_graph_api.hpp"

namespace tilefold::emulated {

using namespace tilefold::cuda::cudnn;

using Bytes = std::vector<std::byte>;

struct Node {
  DescriptorType type{};
  bool isFinal = false;
  std::map<Attribute, Bytes> values;
  std::map<Attribute, std::vector<std::shared_ptr<Node>>> children;

  template <class Value>
  std::vector<Value> all(Attribute attribute) const {
    const auto found = values.find(attribute);
    std::vector<Value> read(found == values.end() ? 0 : found->second.size() / sizeof(Value));
    if (!read.empty()) std::memcpy(read.data(), found->second.data(), read.size() * sizeof(Value));
    return read;
  }
  template <class Value>
  Value one(Attribute attribute, Value otherwise = {}) const {
    const std::vector<Value> read = all<Value>(attribute);
    return read.size() == 1 ? read[0] : otherwise;
  }
  const Node* child(Attribute attribute) const {
    const auto found = children.find(attribute);
    return found == children.end() || found->second.empty() ? nullptr : found->second[0].get();
  }
  template <class Value>
  void put(Attribute attribute, const std::vector<Value>& written) {
    values[attribute].resize(written.size() * sizeof(Value));
    if (!written.empty()) std::memcpy(values[attribute].data(), written.data(), written.size() * sizeof(Value));
  }
};

std::shared_ptr<Node> makeNode(DescriptorType type);

// Nodes that callers hold by their addresses.
void keep(const std::shared_ptr<Node>& node);
// Nothing where there is none.
std::shared_ptr<Node> nodeOf(GraphDescriptor descriptor);
// Whether there was one.
bool forget(GraphDescriptor descriptor);

}  // namespace tilefold::emulated
