#include "random_programs.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "mirror_network.hpp"

namespace tilefold::test {
namespace {

class Maker {
 public:
  Maker(Device& device, Random& random) : device_(device), random_(random) {}

  void make(RandomProgram& program) {
    EncodedProgram& encoded = program.encoded;
    std::vector<Kernel> kernels;
    const LoadImage image = decode<LoadImage>(addKernel(kernels, KernelKind::loadImage));
    encoded.input = {2, static_cast<double>(image.channels), static_cast<double>(image.fullHeight), static_cast<double>(image.fullWidth)};
    program.step.useFor(image);
    program.step.parameters.images.resize(2);
    for (int i = 0; i < 4; ++i) {
      KernelKind kind = KernelKind::loadImage;
      while (kind == KernelKind::loadImage || !hasKernel(kind, device_)) kind = static_cast<KernelKind>(number(random_, 0, kernelKindCount - 1));
      addKernel(kernels, kind);
    }
    addition_ = kernels.size();
    additionKernel_ = addKernel(kernels, KernelKind::copyBox);
    for (const Kernel& kernel : kernels) {
      encoded.kernels.push_back(static_cast<double>(static_cast<int>(kernel.kind)));
      encoded.kernels.insert(encoded.kernels.end(), kernel.fields.begin(), kernel.fields.end());
    }
    arena_ = host_ = 0;
    // A kernel may end up in no section, but must fit all the same.
    for (const Kernel& kernel : kernels) {
      std::int64_t largest = 0;
      for (const OperandExtent& extent : operandExtents(kernel, device_)) largest = std::max(largest, extent.bytes);
      arena_ = std::max(arena_, largest);
      encoded.workspaces.push_back(static_cast<double>(largest));
    }
    // Devices with a queue run without ranks.
    exchangesWithRanks_ = !device_.properties() && number(random_, 0, 1) == 0;
    for (const char* name : {"step", "update", "evaluate"}) {
      stepIo_ = 0;
      events_.clear();
      std::vector<double> code;
      const bool isFirst = encoded.sections.empty();
      constexpr std::int64_t groups[] = {1, 2, 3, mirrorRanks};
      ranks_ = isFirst ? mirrorRanks : groups[some(std::size(groups))];
      // One section is of all ranks, where any is of some.
      if (exchangesWithRanks_ && isFirst) append(code, allToAll());
      for (std::size_t i = 0; i < kernels.size(); ++i) {
        append(code, loop(number(random_, 0, 2) == 0 ? swap() : launch(i, kernels[i])));
        if (exchangesWithRanks_ && number(random_, 0, 2) == 0) append(code, withRanks());
      }
      encoded.sections.push_back({name, code, static_cast<double>(stepIo_)});
    }
    encoded.peakBytes = static_cast<double>(arena_);
    encoded.arenaBytes = static_cast<double>(arena_ + number(random_, 0, 200));
    encoded.hostBytes = static_cast<double>(host_);
    if (number(random_, 0, 1) == 0) putInPages(encoded);
  }

 private:
  std::size_t some(std::size_t count) { return static_cast<std::size_t>(number(random_, 0, static_cast<std::int64_t>(count) - 1)); }

  const Kernel& addKernel(std::vector<Kernel>& kernels, KernelKind kind) {
    return kernels.emplace_back(inLayouts(randomKernel(kind, random_), device_, random_));
  }

  static void append(std::vector<double>& code, const std::vector<double>& more) { code.insert(code.end(), more.begin(), more.end()); }

  // A place for `bytes` in each turn of the loop that surrounds it; `end` is where the space is
  // taken so far.
  std::vector<double> place(std::int64_t& end, std::int64_t bytes) {
    const std::int64_t start = (end + 63) / 64 * 64, stride = (bytes + 63) / 64 * 64;
    end = start + stride * (turns_ - 1) + bytes;
    std::vector<double> offset{static_cast<double>(start), 0, 0, 0};
    offset[1 + axis_] = static_cast<double>(stride);
    return offset;
  }

  // A launch with every operand in a fresh place.
  std::vector<double> launch(std::size_t position, const Kernel& kernel) {
    chooseLoop();
    const auto& table = kernelInfo(kernel.kind).operands;
    const std::vector<OperandExtent> extents = operandExtents(kernel, device_);
    const bool loads = kernel.kind == KernelKind::loadImage && number(random_, 0, 1) == 0;
    std::vector<double> code{loads ? 6.0 : 1.0, static_cast<double>(position), static_cast<double>(table.size())};
    for (std::size_t i = 0; i < table.size(); ++i) {
      const bool arena = number(random_, 0, 1) == 0, absent = extents[i].bytes == 0;
      code.push_back(table[i].use == Use::index ? 3 : absent ? 0 : arena ? 1 : 2);
      append(code, absent ? std::vector<double>(4) : place(arena ? arena_ : stepIo_, extents[i].bytes));
    }
    return code;
  }

  // A copy between two events, after a wait for one that was recorded before.
  std::vector<double> swap() {
    chooseLoop();
    const auto engine = static_cast<double>(number(random_, 1, 2)), event = static_cast<double>(number(random_, 0, 3));
    std::vector<double> code;
    if (!events_.empty()) append(code, {5, static_cast<double>(number(random_, 0, 2)), events_[some(events_.size())]});
    const std::int64_t rows = number(random_, 1, 4), bytes = number(random_, 1, 100), stride = bytes + number(random_, 0, 9);
    for (const double value : {3.0, engine, double(rows), double(bytes), double(stride), double(stride)}) code.push_back(value);
    append(code, place(arena_, (rows - 1) * stride + bytes));
    append(code, place(host_, (rows - 1) * stride + bytes));
    append(code, {4, engine, event, 5, static_cast<double>(number(random_, 0, 2)), event});
    events_.push_back(event);
    return code;
  }

  // With the ranks of the section's groups, or with all.
  std::vector<double> withRanks() {
    const std::int64_t kind = number(random_, 0, 3), group = ranks_;
    if (number(random_, 0, 2) == 0) ranks_ = mirrorRanks;
    const std::vector<double> code = kind == 0 ? allToAll() : kind == 1 ? exchange() : kind == 2 ? ownSlice() : addition();
    ranks_ = group;
    return code;
  }

  // On the network engine, of numbers that the compute engine has.
  std::vector<double> addition() {
    turns_ = 1;
    const auto event = static_cast<double>(number(random_, 4, 7));
    std::vector<double> code{4, 0, event, 5, 3, event, 12, static_cast<double>(addition_), 2};
    for (const OperandExtent& extent : operandExtents(additionKernel_, device_)) {
      code.push_back(1);
      append(code, place(arena_, extent.bytes));
    }
    append(code, {4, 3, event, 5, 0, event});
    return code;
  }

  // With each rank, from one place to all of them or from one place each, between two events.
  std::vector<double> allToAll() {
    turns_ = 1;
    const auto event = static_cast<double>(number(random_, 4, 7));
    const std::int64_t bytes = number(random_, 1, 100), stride = bytes + number(random_, 0, 9);
    const std::int64_t sendStride = number(random_, 0, 1) * stride;
    std::vector<double> code{4, 0, event, 5, 3, event};
    // Those of a group, or one of each.
    const std::int64_t group = number(random_, 1, 3), apart = ranks_ % group == 0 ? group : 1, ranks = ranks_ / apart;
    for (const double value : {9.0, double(ranks), double(apart), double(bytes), double(sendStride), double(stride)}) code.push_back(value);
    append(code, place(arena_, (ranks - 1) * sendStride + bytes));
    append(code, place(arena_, (ranks - 1) * stride + bytes));
    append(code, {4, 3, event, 5, 0, event});
    return code;
  }

  // With some ranks, other bytes with each, between two events.
  std::vector<double> exchange() {
    turns_ = 1;
    const auto event = static_cast<double>(number(random_, 4, 7));
    std::vector<std::pair<std::int64_t, std::int64_t>> bytes;
    for (std::int64_t rank = 0; rank < ranks_; ++rank)
      if (number(random_, 0, 2) > 0) bytes.emplace_back(rank, number(random_, 1, 100));
    const auto count = static_cast<double>(bytes.size());
    std::vector<double> code{4, 0, event, 5, 3, event, 10, double(ranks_), count, count};
    for (int side = 0; side < 2; ++side)
      for (const auto& [rank, size] : bytes) append(code, {double(rank), double(size), place(arena_, size)[0]});
    append(code, {4, 3, event, 5, 0, event});
    return code;
  }

  std::vector<double> ownSlice() {
    turns_ = 1;
    const std::int64_t bytes = number(random_, 1, 100);
    std::vector<double> code{11, double(ranks_), double(bytes)};
    append(code, place(arena_, ranks_ * bytes));
    append(code, place(arena_, bytes));
    return code;
  }

  // The same addresses with memory behind them in another order, which each section maps anew but
  // for what is resident.
  void putInPages(EncodedProgram& encoded) {
    // What a GPU maps, of which arenas as small as these have few; and the system's least.
    const std::int64_t page = device_.properties() ? 1 << 21 : 4096, spare = device_.properties() ? number(random_, 0, 3) : 0;
    const std::int64_t count = (arena_ + page - 1) / page + spare, resident = number(random_, 0, std::max<std::int64_t>(count - 1, 0));
    if (count == 0) return;
    encoded.pageBytes = static_cast<double>(page);
    encoded.addressBytes = encoded.peakBytes = static_cast<double>(count * page);
    encoded.arenaBytes = encoded.peakBytes + static_cast<double>(number(random_, 0, 200));
    encoded.residentBytes = static_cast<double>(resident * page);
    for (EncodedSection& section : encoded.sections) {
      std::vector<double> code;
      for (std::int64_t from = resident; from < count;) {
        const std::int64_t to = number(random_, from + 1, count), memory = resident + count - to;
        for (const std::int64_t value : {std::int64_t{7}, from * page, memory * page, (to - from) * page})
          code.push_back(static_cast<double>(value));
        from = to;
      }
      // All engines begin once everything is mapped, and are done before it goes.
      append(code, {4, 0, 100, 5, 1, 100, 5, 2, 100});
      if (exchangesWithRanks_) append(code, {5, 3, 100});
      append(code, section.code);
      append(code, {4, 1, 101, 5, 0, 101, 4, 2, 102, 5, 0, 102});
      if (exchangesWithRanks_) append(code, {4, 3, 103, 5, 0, 103});
      append(code, {8, static_cast<double>(resident * page), static_cast<double>((count - resident) * page)});
      section.code = code;
    }
  }

  void chooseLoop() {
    axis_ = some(axisCount);
    turns_ = number(random_, 1, 3);
  }

  std::vector<double> loop(const std::vector<double>& body) const {
    std::vector<double> code{2, static_cast<double>(axis_), static_cast<double>(turns_), static_cast<double>(body.size())};
    append(code, body);
    return code;
  }

  Device& device_;
  Random& random_;
  std::int64_t arena_ = 0, host_ = 0, stepIo_ = 0;
  std::vector<double> events_;  // recorded so far in the section
  std::size_t axis_ = 0;        // of the loop around the next instruction
  std::int64_t turns_ = 1;
  bool exchangesWithRanks_ = false;
  std::size_t addition_ = 0;  // the position of a copyBox
  Kernel additionKernel_{KernelKind::copyBox, {}};
  std::int64_t ranks_ = 1;  // with which the section exchanges: all, or those of a group
};

}  // namespace

RandomProgram randomProgram(Device& device, Random& random) {
  RandomProgram program;
  Maker(device, random).make(program);
  return program;
}

}  // namespace tilefold::test
