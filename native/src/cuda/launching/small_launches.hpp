// Launches that do little, one behind another: of those that touch different bytes all of one
// kernel are done by one grid. A step of ResNet-50 has hundreds, each of which takes a GPU longer
// to begin than to do.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "../context/context.hpp"

namespace tilefold::cuda {

// Bytes that a launch reads or writes; none at a null address.
struct Touched {
  const void* first = nullptr;
  std::int64_t bytes = 0;
};

struct SmallLaunch {
  // Enqueues all of these, which are of one kernel and touch different bytes.
  using Enqueue = void (*)(const Context&, const std::vector<SmallLaunch>&);
  static constexpr std::int64_t mostElements = std::int64_t{1} << 16;

  Enqueue enqueue = nullptr;
  std::int64_t elements = 0;
  std::array<Touched, 3> touched{};
  alignas(std::int64_t) std::array<std::byte, 64> fields{};  // small_launch.cuh knows of which kernel

  bool isSmall() const { return elements <= mostElements; }
};

// A kernel whose launches may wait for others.
class SmallKernel : public CompiledKernel {
 public:
  virtual SmallLaunch launchOf(const std::vector<Operand>& operands) const = 0;
};

// Launches that wait, to be enqueued before anything else is.
class SmallLaunches {
 public:
  explicit SmallLaunches(const Context& context) : context_(context) {}

  // Behind those that wait, among them where it is small.
  void launch(CompiledKernel& kernel, const std::vector<Operand>& operands);
  // What was added before and touches the same bytes is enqueued before.
  void add(const SmallLaunch& launch);
  void enqueue();
  void forget() { groups_.clear(); }

 private:
  static constexpr std::size_t mostGroups = 4, mostTogether = 128;

  const Context& context_;
  std::vector<std::vector<SmallLaunch>> groups_;  // each of one kernel, in the order of enqueueing
};

}  // namespace tilefold::cuda
