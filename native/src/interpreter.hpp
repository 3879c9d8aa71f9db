// Runs the sections of a decoded program on a device.
#pragma once
#include <atomic>
#include <memory>
#include <vector>

#include "arena.hpp"
#include "device.hpp"
#include "program.hpp"

namespace tilefold {

class Interpreter {
 public:
  // Compiles every distinct kernel once. The device outlives the interpreter. Throws Failure.
  Interpreter(Program program, Device& device);

  const Program& program() const { return program_; }
  const Arena& arena() const { return arena_; }

  // Runs a section to its end; false when `stop` was set, which ends it before its next instruction.
  // `exchange` has the section's exchangeBytes. Throws Failure.
  bool run(const Section& section, std::byte* exchange, const StepParameters& step, const std::atomic<bool>& stop);

 private:
  struct State;
  bool run(const std::vector<Instruction>& code, State& state);
  bool execute(const Launch& launch, State& state);
  bool execute(const Loop& loop, State& state);

  Program program_;
  std::vector<std::unique_ptr<CompiledKernel>> kernels_;
  Arena arena_;
};

// Throws Failure unless the images are those that the program's loadImage expects.
void checkImages(const std::vector<Image>& images, const ImageExtent& input);

}  // namespace tilefold
