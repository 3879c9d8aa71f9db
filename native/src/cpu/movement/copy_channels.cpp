#include "copy_channels.hpp"

#include "../../reference/block_loop.hpp"
#include "../processor/parallel.hpp"
#include "../vectors/lane_loops.hpp"

namespace tilefold::cpu {
namespace {

// Some channels of a tile as its planes hold them.
class Side {
 public:
  Side(const CopyChannels& c, const ChannelRange& range)
      : planes_(range.layout, c.batch, range.channels), pixels_(c.height * c.width), first_(range.first) {}

  std::int64_t step() const { return planes_.block; }
  // Where a channel's first pixel is, in elements; channels of the range are counted from 0.
  std::int64_t at(std::int64_t image, std::int64_t channel) const {
    const std::int64_t c = first_ + channel;
    return (image * planes_.blocks + c / planes_.block) * pixels_ * planes_.block + c % planes_.block;
  }
  // Channels that lie together from this one on.
  std::int64_t together(std::int64_t channel) const { return planes_.block - (first_ + channel) % planes_.block; }
  // Of the last block, where the range ends with the tensor.
  std::int64_t padding(std::int64_t count) const {
    return first_ + count == planes_.channels ? planes_.blocks * planes_.block - planes_.channels : 0;
  }

 private:
  reference::Planes planes_;
  std::int64_t pixels_, first_;
};

// Channels that lie together on both sides.
struct Run {
  std::int64_t channel, lanes;
};

// The runs of each block of the destination.
std::vector<std::vector<Run>> runsByBlock(const Side& source, const Side& destination, std::int64_t count) {
  std::vector<std::vector<Run>> blocks;
  for (std::int64_t channel = 0; channel < count;) {
    std::vector<Run>& runs = blocks.emplace_back();
    for (const std::int64_t end = std::min(count, channel + destination.together(channel)); channel < end; channel += runs.back().lanes)
      runs.push_back({channel, std::min(end - channel, source.together(channel))});
  }
  return blocks;
}

}  // namespace

template <class T>
Launch copyChannels(const CopyChannels& c) {
  constexpr std::int64_t grain = 1024;  // pixels
  const Side from(c, sourceRange(c)), to(c, destinationRange(c));
  const std::int64_t pixels = c.height * c.width, ranges = (pixels + grain - 1) / grain, padding = c.add ? 0 : to.padding(c.count);
  const std::vector<std::vector<Run>> blocks = runsByBlock(from, to, c.count);
  const auto count = static_cast<std::int64_t>(blocks.size());
  // A range of pixels of a block of the destination is one thread's.
  return [=](const std::vector<Operand>& operands, const StepParameters&) {
    const T* source = elements<const T>(operands, 0);
    T* destination = elements<T>(operands, 1);
    parallelFor(c.batch * count * ranges, [&](std::int64_t index) {
      const std::int64_t image = index / ranges / count, block = index / ranges % count;
      const std::int64_t begin = index % ranges * grain, length = std::min(grain, pixels - begin);
      for (const Run& run : blocks[static_cast<std::size_t>(block)])
        copyLanes<T>({source + from.at(image, run.channel) + begin * from.step(), from.step()},
                  {destination + to.at(image, run.channel) + begin * to.step(), to.step()}, run.lanes, length, c.add);
      if (padding == 0 || block + 1 < count) return;
      T* last = destination + to.at(image, c.count - 1) + begin * to.step() + 1;
      for (std::int64_t p = 0; p < length; ++p) std::fill_n(last + p * to.step(), padding, T(0.0F));
    });
  };
}

template Launch copyChannels<float>(const CopyChannels&);
template Launch copyChannels<Bfloat16>(const CopyChannels&);

}  // namespace tilefold::cpu
