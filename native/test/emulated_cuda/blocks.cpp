#include "blocks.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "fibers.hpp"

namespace tilefold::emulated {

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;
unsigned barriersPassed = 0;

namespace {

// A thread that waits, on the fiber that it runs on.
struct Waiting {
  Fiber* fiber;
  uint3 thread;
};

// One block's threads. Threads that meet no barrier run one after another on the same fiber: a
// thread needs a fiber of its own only once it waits.
class Block {
 public:
  void run(unsigned threads, const std::function<void()>& body, std::mt19937& order) {
    body_ = &body;
    threads_ = threads;
    started_ = 0;
    backward_ = order() % 2 == 0;
    bool diverged = false;
    awaited_ = true;
    following()->resume();
    while (!waiting_.empty()) {
      diverged = diverged || (atBarrier_ != 0 && atBarrier_ != threads_);
      if (atBarrier_ == 0 && !awaited_) throw std::runtime_error("the threads of a block wait for each other");
      going_.swap(waiting_);
      awaited_ = atBarrier_ != 0;
      atBarrier_ = 0;
      ++barriersPassed;
      if (order() % 2 == 0) std::reverse(going_.begin(), going_.end());
      following()->resume();
    }
    if (diverged) throw std::runtime_error("a barrier was not reached by all threads of a block");
  }

  void wait(bool atBarrier) {
    if (Fiber::running() == nullptr) throw std::logic_error("a barrier outside of a kernel");
    if (atBarrier) ++atBarrier_;
    waiting_.push_back({Fiber::running(), threadIdx});
    leave();
  }

  void awaited() { awaited_ = true; }

 private:
  static void work();

  // Whose turn it is: of those that a barrier let go on, from the last, or of those that have not
  // begun; null where all wait or have ended.
  Fiber* following() {
    if (!going_.empty()) {
      const Waiting one = going_.back();
      going_.pop_back();
      threadIdx = one.thread;
      return one.fiber;
    }
    return started_ < threads_ ? &idle() : nullptr;
  }

  // Threads hand over to each other: a way by who runs the block would be two switches each.
  void leave() {
    Fiber* const next = following();
    if (next == nullptr)
      Fiber::stop();
    else
      Fiber::passTo(*next);
  }

  Fiber& idle() {
    if (idle_.empty()) {
      fibers_.push_back(std::make_unique<Fiber>(work));
      idle_.push_back(fibers_.back().get());
    }
    Fiber& fiber = *idle_.back();
    idle_.pop_back();
    return fiber;
  }

  const std::function<void()>* body_ = nullptr;
  unsigned threads_ = 0, started_ = 0, atBarrier_ = 0;
  bool backward_ = false, awaited_ = false;
  std::vector<Waiting> waiting_, going_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> idle_;
} block;

void Block::work() {
  while (true) {
    while (block.started_ < block.threads_) {
      const unsigned number = block.started_++, thread = block.backward_ ? block.threads_ - 1 - number : number;
      threadIdx = {thread % blockDim.x, thread / blockDim.x % blockDim.y, thread / blockDim.x / blockDim.y};
      (*block.body_)();
    }
    block.idle_.push_back(Fiber::running());
    block.leave();
  }
}

}  // namespace

void barrier() { block.wait(true); }
void pause() { block.wait(false); }
void awaited() { block.awaited(); }

void runBlocks(dim3 grid, dim3 size, const std::function<void()>& thread, std::mt19937& order) {
  gridDim = grid;
  blockDim = size;
  std::vector<unsigned> blocks(std::size_t{grid.x} * grid.y * grid.z);
  std::iota(blocks.begin(), blocks.end(), 0U);
  std::shuffle(blocks.begin(), blocks.end(), order);
  for (const unsigned number : blocks) {
    blockIdx = {number % grid.x, number / grid.x % grid.y, number / grid.x / grid.y};
    block.run(size.x * size.y * size.z, thread, order);
  }
}

}  // namespace tilefold::emulated
