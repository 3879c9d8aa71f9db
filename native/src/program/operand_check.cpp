#include "operand_check.hpp"

#include "../whole.hpp"

namespace tilefold {

std::optional<ArenaRange> checkOperand(const Address& address, const OperandInfo& info, const OperandExtent& extent, const OpenLoops& loops,
                                       const CodeLimits& limits) {
  if ((address.space == Space::index) != (info.use == Use::index))
    throw Failure(info.use == Use::index ? "is an index but stands in another space" : "is no index but stands in space index");
  if (address.space == Space::none) {
    if (!extent.optional) throw Failure("is required but stands in space none");
    return std::nullopt;
  }
  const auto [least, most] = loops.extremes(address);
  if (info.use == Use::index) {
    if (least < 0 || most > extent.limit)
      throw Failure("ranges over " + text(least) + " .. " + text(most) + ", outside 0 .. " + text(extent.limit));
    return std::nullopt;
  }
  const bool isInArena = address.space == Space::arena;
  const std::int64_t space = isInArena ? limits.arenaBytes : limits.stepIoBytes;
  const std::int64_t end = checkedAdd(most, extent.bytes);
  if (least < 0 || end > space)
    throw Failure("reaches bytes " + text(least) + " .. " + text(end) + " of " + (isInArena ? "the arena's " : "the I/O buffer's ") +
                  text(space));
  if (!loops.isAligned(address, extent.alignment))
    throw Failure("is not aligned to its elements of " + text(extent.alignment) + " bytes");
  if (!isInArena) return std::nullopt;
  return ArenaRange{least, end};
}

}  // namespace tilefold
