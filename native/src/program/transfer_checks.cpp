#include "transfer_checks.hpp"

#include <algorithm>
#include <string>
#include <tuple>

#include "../whole.hpp"

namespace tilefold {
namespace {

constexpr std::int64_t mostRanks = std::int64_t{1} << 20;

// As many runs of bytes as there are ranks, so far apart.
ArenaRange checkReach(const char* what, const Offset& offset, std::int64_t ranks, std::int64_t stride, std::int64_t bytes, std::int64_t arenaBytes) {
  const std::int64_t end = checkedAdd(checkedAdd(offset.base, checkedMultiply(ranks - 1, stride)), bytes);
  if (offset.base < 0 || end > arenaBytes)
    throw Failure(std::string(what) + " bytes " + text(offset.base) + " .. " + text(end) + " of the arena's " + text(arenaBytes));
  return {offset.base, end};
}

}  // namespace

ArenaRange checkCopy(const Copy& copy, const OpenLoops& loops, std::int64_t arenaBytes, std::int64_t hostBytes) {
  if (copy.engine != Engine::toDevice && copy.engine != Engine::toHost)
    throw Failure(std::string("copies on the ") + (copy.engine == Engine::compute ? "compute" : "network") + " engine");
  if (copy.rows < 1 || copy.rowBytes < 1) throw Failure("copies " + text(copy.rows) + " rows of " + text(copy.rowBytes) + " bytes");
  if (copy.deviceRowStride < 0 || copy.hostRowStride < 0) throw Failure("copies rows at a negative stride");
  const std::int64_t stride = copy.engine == Engine::toDevice ? copy.deviceRowStride : copy.hostRowStride;
  if (copy.rows > 1 && stride < copy.rowBytes)
    throw Failure("copies rows of " + text(copy.rowBytes) + " bytes to places " + text(stride) + " bytes apart");
  for (const auto& [offset, rowStride, name, space] : {std::tuple(copy.device, copy.deviceRowStride, "the arena's ", arenaBytes),
                                                       std::tuple(copy.host, copy.hostRowStride, "the host pool's ", hostBytes)}) {
    const std::int64_t bytes = checkedAdd(checkedMultiply(copy.rows - 1, rowStride), copy.rowBytes);
    const auto [least, most] = loops.extremes(offset);
    const std::int64_t reached = checkedAdd(most, bytes);
    if (least < 0 || reached > space) throw Failure("copies bytes " + text(least) + " .. " + text(reached) + " of " + name + text(space));
  }
  const auto [least, most] = loops.extremes(copy.device);
  return {least, most + (copy.rows - 1) * copy.deviceRowStride + copy.rowBytes};
}

std::array<ArenaRange, 2> checkAllToAll(const AllToAll& all, std::int64_t arenaBytes) {
  if (all.ranks < 1 || all.ranks > mostRanks || all.bytes < 1)
    throw Failure("exchanges " + text(all.bytes) + " bytes with each of " + text(all.ranks) + " ranks");
  if (all.apart < 1 || all.apart > mostRanks / all.ranks)
    throw Failure("exchanges with " + text(all.ranks) + " ranks that are " + text(all.apart) + " apart");
  if (all.sendStride < 0 || all.receiveStride < 0 || (all.ranks > 1 && all.receiveStride < all.bytes))
    throw Failure("receives " + text(all.bytes) + " bytes of each rank at places " + text(all.receiveStride) + " bytes apart");
  const ArenaRange sent = checkReach("sends", all.send, all.ranks, all.sendStride, all.bytes, arenaBytes);
  const ArenaRange received = checkReach("receives", all.receive, all.ranks, all.receiveStride, all.bytes, arenaBytes);
  if (sent.from < received.to && received.from < sent.to) throw Failure("receives where it sends from");
  return {sent, received};
}

std::array<ArenaRange, 2> checkOwnSlice(const OwnSlice& own, std::int64_t arenaBytes) {
  if (own.ranks < 1 || own.ranks > mostRanks || own.bytes < 1)
    throw Failure("takes one of " + text(own.ranks) + " slices of " + text(own.bytes) + " bytes");
  const ArenaRange slices = checkReach("takes one of the slices in", own.from, own.ranks, own.bytes, own.bytes, arenaBytes);
  const ArenaRange taken = checkReach("takes a slice to", own.to, 1, 0, own.bytes, arenaBytes);
  if (slices.from < taken.to && taken.from < slices.to) throw Failure("takes a slice to where slices are");
  return {slices, taken};
}

void checkMessageCounts(std::int64_t ranks, std::int64_t sends, std::int64_t receives) {
  if (ranks < 1 || ranks > mostRanks || sends < 0 || receives < 0 || sends > ranks || receives > ranks)
    throw Failure("has " + text(sends) + " messages for, and " + text(receives) + " of, " + text(ranks) + " ranks");
}

ArenaRange checkMessage(const Message& message, std::int64_t before, std::int64_t ranks, const char* what, std::int64_t arenaBytes) {
  if (message.rank < 0 || message.rank >= ranks || message.rank <= before)
    throw Failure(std::string(what) + " a message of rank " + text(message.rank) + ", which is none of " + text(ranks) + " or comes out of order");
  const std::int64_t end = checkedAdd(message.base, message.bytes);
  if (message.bytes < 1 || message.base < 0 || end > arenaBytes)
    throw Failure(std::string(what) + " bytes " + text(message.base) + " .. " + text(end) + " of the arena's " + text(arenaBytes));
  return {message.base, end};
}

void checkApart(const Exchange& exchange) {
  std::vector<Message> written = exchange.receives;
  std::sort(written.begin(), written.end(), [](const Message& a, const Message& b) { return a.base < b.base; });
  for (std::size_t i = 1; i < written.size(); ++i)
    if (written[i].base < written[i - 1].base + written[i - 1].bytes) throw Failure("receives from two ranks in one place");
  for (const Message& sent : exchange.sends) {
    // The first that ends beyond where this begins: they lie in order, apart from each other.
    const auto found = std::partition_point(written.begin(), written.end(), [&](const Message& one) { return one.base + one.bytes <= sent.base; });
    if (found != written.end() && found->base < sent.base + sent.bytes) throw Failure("receives where it sends from");
  }
}

}  // namespace tilefold
