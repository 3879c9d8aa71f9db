#include "repeated_launches.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "../kernels/kernel_fields.hpp"

namespace tilefold {
namespace {

// From one byte of a space up to another.
struct Bytes {
  Space space = Space::none;
  std::int64_t from = 0, to = 0;
  bool overlaps(const Bytes& other) const { return space == other.space && from < other.to && other.from < to; }
};

using Ranges = std::vector<Bytes>;

bool overlapsAny(const Bytes& bytes, const Ranges& ranges) {
  return std::any_of(ranges.begin(), ranges.end(), [&](const Bytes& range) { return bytes.overlaps(range); });
}

// Whether the ranges together hold all of the bytes.
bool covered(Bytes bytes, const Ranges& ranges) {
  while (bytes.from < bytes.to) {
    std::int64_t reached = bytes.from;
    for (const Bytes& range : ranges)
      if (range.space == bytes.space && range.from <= bytes.from) reached = std::max(reached, range.to);
    if (reached == bytes.from) return false;
    bytes.from = reached;
  }
  return true;
}

// What a launch touches over all iterations: `fills` are the bytes that it writes each time, all of
// them.
struct Touched {
  Ranges reads, writes, fills;
  bool isFixed = true;  // the same places in every iteration; of a loadImage its destination
};

// What a copy of channels writes where that is whole planes of one image, which lie together.
std::optional<Bytes> planesOf(const CopyChannels& copy, const Bytes& destination, std::int64_t elementBytes) {
  const ChannelRange range = destinationRange(copy);
  if (copy.batch != 1 || range.layout == Layout::nhwc) return std::nullopt;
  const std::int64_t block = channelBlock(range.layout), end = range.first + copy.count;
  if (range.first % block != 0 || (end % block != 0 && end != range.channels)) return std::nullopt;
  const std::int64_t planeBytes = copy.height * copy.width * block * elementBytes;
  return Bytes{destination.space, destination.from + range.first / block * planeBytes, destination.from + (end + block - 1) / block * planeBytes};
}

// Whether a box that is copied has nothing between its rows.
bool isDense(const CopyBox& box) {
  std::int64_t elements = box.n[3];
  for (std::size_t i = 3; i-- > 0;) {
    if (box.n[i] > 1 && box.destinationStride[i] != elements) return false;
    elements *= box.n[i];
  }
  return true;
}

class Toucher {
 public:
  Toucher(const CodeLimits& limits, const OpenLoops& loops) : limits_(limits), loops_(loops) {}

  Touched operator()(const Launch& launch) const {
    const Kernel& kernel = limits_.kernels[launch.kernel];
    const std::vector<OperandInfo>& infos = kernelInfo(kernel.kind).operands;
    Touched touched;
    for (std::size_t i = 0; i < infos.size(); ++i) {
      const Address& address = launch.operands[i];
      if (address.space == Space::none) continue;
      const auto [least, most] = loops_.extremes(address);
      const bool isPlaceOfLoad = kernel.kind == KernelKind::loadImage && infos[i].use == Use::index;
      if (least != most && !isPlaceOfLoad) touched.isFixed = false;
      if (address.space == Space::index) continue;
      const OperandExtent& extent = limits_.extents[launch.kernel][i];
      add(touched, kernel, infos[i].use, {address.space, least, most + extent.bytes}, least == most, extent.alignment);
    }
    return touched;
  }

 private:
  static void add(Touched& touched, const Kernel& kernel, Use use, const Bytes& bytes, bool isOnePlace, std::int64_t elementBytes) {
    const bool copies = (kernel.kind == KernelKind::copyChannels && !decode<CopyChannels>(kernel).add) ||
                        (kernel.kind == KernelKind::copyBox && !decode<CopyBox>(kernel).add);
    if (use == Use::read || (use == Use::accumulate && !copies)) touched.reads.push_back(bytes);
    if (use == Use::read) return;
    touched.writes.push_back(bytes);
    if (!isOnePlace) return;
    // Classes of a tile have the image's other columns between their rows.
    if (use == Use::write && kernel.kind != KernelKind::argmaxChannels) touched.fills.push_back(bytes);
    if (use != Use::accumulate || !copies) return;
    if (kernel.kind == KernelKind::copyBox) {
      if (isDense(decode<CopyBox>(kernel))) touched.fills.push_back(bytes);
    } else if (const auto planes = planesOf(decode<CopyChannels>(kernel), bytes, elementBytes)) touched.fills.push_back(*planes);
  }

  const CodeLimits& limits_;
  const OpenLoops& loops_;
};

void append(Ranges& ranges, const Ranges& more) { ranges.insert(ranges.end(), more.begin(), more.end()); }

// How many of the first launches read nothing that an iteration changes, but for what they wrote
// themselves before.
std::size_t unchanging(const std::vector<Touched>& launches) {
  Ranges written, filled;
  for (const Touched& launch : launches) append(written, launch.writes);
  std::size_t count = 0;
  for (const Touched& launch : launches) {
    const bool readsChanged = std::any_of(launch.reads.begin(), launch.reads.end(), [&](const Bytes& bytes) {
      return overlapsAny(bytes, written) && !covered(bytes, filled);
    });
    if (!launch.isFixed || readsChanged) break;
    append(filled, launch.fills);
    ++count;
  }
  return count;
}

// The last of the first `count` launches that writes what another one reads after it was
// overwritten; `count` where there is none.
std::size_t findLost(const std::vector<Touched>& launches, std::size_t count) {
  Ranges overwritten, filled;
  for (std::size_t other = count; other < launches.size(); ++other) append(overwritten, launches[other].writes);
  for (std::size_t other = count; other < launches.size(); ++other) {
    for (const Bytes& bytes : launches[other].reads) {
      if (covered(bytes, filled) || !overlapsAny(bytes, overwritten)) continue;
      for (std::size_t first = count; first-- > 0;)
        if (overlapsAny(bytes, launches[first].writes)) return first;
    }
    append(filled, launches[other].fills);
  }
  return count;
}

// Of the first `count` launches so many that the others find what they read of them as it was
// written, however often they run.
std::size_t kept(const std::vector<Touched>& launches, std::size_t count) {
  std::size_t fewer = findLost(launches, count);
  while (fewer != count) {
    count = fewer;
    fewer = findLost(launches, count);
  }
  return count;
}

}  // namespace

std::size_t repeatedLaunches(const Code& body, const CodeLimits& limits, const OpenLoops& loops) {
  const auto* first = body.empty() ? nullptr : std::get_if<Launch>(&body.front());
  if (first == nullptr || limits.kernels[first->kernel].kind != KernelKind::loadImage) return 0;
  const Toucher touch(limits, loops);
  std::vector<Touched> launches;
  for (const Instruction& instruction : body) {
    const auto* launch = std::get_if<Launch>(&instruction);
    if (launch == nullptr || launch->engine != Engine::compute) return 0;
    launches.push_back(touch(*launch));
  }
  const std::size_t count = kept(launches, unchanging(launches));
  return count > 1 ? count : 0;
}

}  // namespace tilefold
