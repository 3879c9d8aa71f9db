#include "graph_node.hpp"

#include <mutex>

namespace tilefold::emulated {
namespace {

std::mutex mutex;

std::map<GraphDescriptor, std::shared_ptr<Node>>& nodes() {
  static std::map<GraphDescriptor, std::shared_ptr<Node>> all;
  return all;
}

}  // namespace

std::shared_ptr<Node> makeNode(DescriptorType type) {
  auto node = std::make_shared<Node>();
  node->type = type;
  return node;
}

void keep(const std::shared_ptr<Node>& node) {
  const std::lock_guard<std::mutex> lock(mutex);
  nodes().emplace(node.get(), node);
}

std::shared_ptr<Node> nodeOf(GraphDescriptor descriptor) {
  const std::lock_guard<std::mutex> lock(mutex);
  const auto found = nodes().find(descriptor);
  return found == nodes().end() ? nullptr : found->second;
}

bool forget(GraphDescriptor descriptor) {
  const std::lock_guard<std::mutex> lock(mutex);
  return nodes().erase(descriptor) == 1;
}

}  // namespace tilefold::emulated
