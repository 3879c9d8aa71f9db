// Which blocks of one side's channels meet which blocks of the other's in a grouped convolution.
#pragma once
#include <array>
#include <vector>

#include "strides.hpp"

namespace tilefold::cpu {

// One result block and the run of operand blocks that hold channels of its groups; matrices of
// earlier results come before `matrix`.
struct ChannelRun {
  std::int64_t firstOperand, operands, matrix;
};

class ChannelPairs {
 public:
  ChannelPairs(std::int64_t resultChannels, std::int64_t operandChannels, std::int64_t groups, std::int64_t block);
  const ChannelRun& operator[](std::int64_t resultBlock) const { return runs_[static_cast<std::size_t>(resultBlock)]; }
  std::int64_t resultBlocks() const { return static_cast<std::int64_t>(runs_.size()); }
  std::int64_t matrices() const { return matrices_; }
  std::int64_t block() const { return block_; }

  // visit(operand lane, result lane, offset of their weight) for the channels of two blocks that
  // share a group. `resultIsOut`: the result's channels are the convolution's output channels.
  template <class Visit>
  void forShared(std::int64_t resultBlock, std::int64_t operandBlock, const WeightStrides& weights, bool resultIsOut,
                 const Visit& visit) const {
    const auto results = lanes(resultBlock, resultChannels_, resultIsOut ? weights.out : weights.in);
    const auto operands = lanes(operandBlock, operandChannels_, resultIsOut ? weights.in : weights.out);
    for (std::size_t q = 0; q < operands.count; ++q) {
      const std::int64_t group = operands.group[q], offset = weights.group(group) + operands.offset[q];
      for (std::size_t r = 0; r < results.count; ++r)
        if (results.group[r] == group) visit(q, r, offset + results.offset[r]);
    }
  }

 private:
  struct BlockLanes {
    std::size_t count = 0;
    std::array<std::int64_t, 16> group{}, offset{};
  };

  BlockLanes lanes(std::int64_t index, std::int64_t channels, const BlockedAxis& axis) const {
    const std::int64_t perGroup = channels / groups_;
    BlockLanes result;
    for (std::int64_t c = index * block_; c < std::min((index + 1) * block_, channels); ++c, ++result.count) {
      result.group[result.count] = c / perGroup;
      result.offset[result.count] = axis(c % perGroup);
    }
    return result;
  }

  std::int64_t resultChannels_, operandChannels_, groups_, block_, matrices_ = 0;
  std::vector<ChannelRun> runs_;
};

inline ChannelPairs::ChannelPairs(std::int64_t resultChannels, std::int64_t operandChannels, std::int64_t groups, std::int64_t block)
    : resultChannels_(resultChannels), operandChannels_(operandChannels), groups_(groups), block_(block) {
  const std::int64_t perResult = resultChannels / groups, perOperand = operandChannels / groups;
  for (std::int64_t begin = 0; begin < resultChannels; begin += block) {
    const std::int64_t firstGroup = begin / perResult, lastGroup = (std::min(begin + block, resultChannels) - 1) / perResult;
    const std::int64_t first = firstGroup * perOperand / block, last = ((lastGroup + 1) * perOperand - 1) / block;
    runs_.push_back({first, last - first + 1, matrices_});
    matrices_ += last - first + 1;
  }
}

}  // namespace tilefold::cpu
