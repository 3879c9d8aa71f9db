#include "small_launches.hpp"

#include <algorithm>
#include <utility>

#include "fused_kernel.hpp"

namespace tilefold::cuda {
namespace {

bool meet(const Touched& one, const Touched& other) {
  return one.first != nullptr && other.first != nullptr && overlap(one.first, one.bytes, other.first, other.bytes);
}

// Whether they touch a byte in common, be it that both read it.
bool meet(const SmallLaunch& one, const SmallLaunch& other) {
  return std::any_of(one.touched.begin(), one.touched.end(), [&](const Touched& a) {
    return std::any_of(other.touched.begin(), other.touched.end(), [&](const Touched& b) { return meet(a, b); });
  });
}

}  // namespace

void SmallLaunches::launch(CompiledKernel& kernel, const std::vector<Operand>& operands) {
  if (const auto* small = dynamic_cast<const SmallKernel*>(&kernel)) {
    const SmallLaunch launch = small->launchOf(operands);
    if (launch.isSmall()) return add(launch);
  }
  enqueue();
  kernel.launch(operands, {});
}

void SmallLaunches::add(const SmallLaunch& launch) {
  // From the last group to the first one, as long as it may come before what is behind.
  for (auto group = groups_.rbegin(); group != groups_.rend(); ++group) {
    if (std::any_of(group->begin(), group->end(), [&](const SmallLaunch& other) { return meet(launch, other); })) break;
    if (group->front().enqueue == launch.enqueue && group->size() < mostTogether) return group->push_back(launch);
  }
  if (groups_.size() == mostGroups) enqueue();
  groups_.push_back({launch});
}

void SmallLaunches::enqueue() {
  for (const std::vector<SmallLaunch>& group : std::exchange(groups_, {})) group.front().enqueue(context_, group);
}

}  // namespace tilefold::cuda
