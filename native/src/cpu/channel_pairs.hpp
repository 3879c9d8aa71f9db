// Which blocks of one side's channels meet which blocks of the other's in a grouped convolution.
#pragma once
#include <vector>

#include "strides.hpp"

namespace tilefold::cpu {

// One result block and the run of operand blocks that hold channels of its groups; matrices of earlier results come before `matrix`.
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

  // visit(operand lane, result lane, group, operand channel in it, result channel in it) for the channels of a pair that share a group.
  template <class Visit>
  void forShared(std::int64_t resultBlock, std::int64_t operandBlock, const Visit& visit) const {
    const std::int64_t perResult = resultChannels_ / groups_, perOperand = operandChannels_ / groups_;
    for (std::int64_t q = 0; q < std::min(block_, operandChannels_ - operandBlock * block_); ++q)
      for (std::int64_t r = 0; r < std::min(block_, resultChannels_ - resultBlock * block_); ++r) {
        const std::int64_t operand = operandBlock * block_ + q, result = resultBlock * block_ + r;
        if (operand / perOperand == result / perResult) visit(q, r, result / perResult, operand % perOperand, result % perResult);
      }
  }

 private:
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
