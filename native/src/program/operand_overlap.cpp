#include "operand_overlap.hpp"

#include <algorithm>

namespace tilefold {
namespace {

// Whether a kernel adds to what it writes.
bool adds(const Kernel& kernel) {
  const auto& names = kernelInfo(kernel.kind).fields;
  const auto found = std::find(names.begin(), names.end(), std::string("add"));
  return found != names.end() && kernel.fields[static_cast<std::size_t>(found - names.begin())] == 1;
}

// Whether a kernel may work in place, what it writes exactly where it reads.
bool mayCoincide(const Kernel& kernel, const OperandInfo& first, const OperandInfo& second) {
  const bool reads = first.inPlace && second.use != Use::read;
  const bool writes = second.inPlace && first.use != Use::read;
  return (reads || writes) && !adds(kernel);
}

Offset distance(const Offset& from, const Offset& to) {
  Offset result{checkedAdd(to.base, -from.base), {}};
  for (std::size_t axis = 0; axis < axisCount; ++axis) result.strides[axis] = checkedAdd(to.strides[axis], -from.strides[axis]);
  return result;
}

}  // namespace

std::optional<std::pair<std::size_t, std::size_t>> findOverlap(const std::vector<Address>& operands, const Kernel& kernel,
                                                               const std::vector<OperandExtent>& extents, const OpenLoops& loops) {
  const std::vector<OperandInfo>& infos = kernelInfo(kernel.kind).operands;
  for (std::size_t i = 0; i < infos.size(); ++i)
    for (std::size_t j = i + 1; j < infos.size(); ++j) {
      const Address &a = operands[i], &b = operands[j];
      if (a.space != b.space || a.space == Space::none || a.space == Space::index) continue;
      if (infos[i].use == Use::read && infos[j].use == Use::read) continue;
      const auto [least, most] = loops.extremes(distance(a, b));
      const bool apart = least >= extents[i].bytes || most <= -extents[j].bytes;
      const bool coincide = least == 0 && most == 0 && mayCoincide(kernel, infos[i], infos[j]);
      if (!apart && !coincide) return std::pair(i, j);
    }
  return std::nullopt;
}

}  // namespace tilefold
