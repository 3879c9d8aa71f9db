// Runs the sections of a decoded program on a device.
#pragma once
#include <memory>
#include <vector>

#include "../device.hpp"
#include "../engines/engines.hpp"
#include "../network/network.hpp"
#include "../program/program.hpp"
#include "../engines/progress.hpp"

namespace tilefold {

// What is measured beside the time of a section.
struct Measuring {
  bool timesKernels = false;  // each launch by itself: a device that queues waits for each
  bool traces = false;        // when each launch, copy and map begins and ends
};

class Interpreter {
 public:
  // Compiles every distinct kernel once. The device outlives the interpreter. `network`: of the
  // ranks that the program exchanges with; none where it does not. Throws Failure.
  Interpreter(Program program, Device& device, double linkBytesPerSecond = 0, const Measuring& measuring = {},
              std::shared_ptr<Network> network = nullptr);

  const Program& program() const { return program_; }
  const Engines& engines() const { return *engines_; }
  // Of each kernel's launches in all runs so far; none where they are not timed.
  std::vector<double> kernelMilliseconds() const;
  // Of each engine, where they are traced: when each of its launches, copies and maps of the latest
  // section began and ended, in turn; nanoseconds of the machine's steady clock.
  PerEngine<std::vector<double>> timestamps() const { return engines_->timestamps(); }

  // Of all runs so far: tiles whose images were those of the tile before, so that what had been
  // computed of it served.
  std::uint64_t repeatedTiles() const { return repeatedTiles_; }

  // On any thread, also during a run: reads the images of a later one, none of them by windows,
  // under a number above 0. Throws Failure.
  void prepare(std::uint64_t number, const std::vector<Image>& images);
  // Between runs: the next one has the images that were prepared last, under this number; 0: has
  // others.
  void claim(std::uint64_t number) { engines_->claim(number); }
  // Runs a section to its end; false when `progress` was ended, which ends it before its next
  // instruction. `stepIo` has the section's stepIoBytes. Throws Failure.
  bool run(const Section& section, std::byte* stepIo, const StepParameters& step, Progress& progress);

 private:
  class Walk;

  // Whether a run may leave out launches of tiles that are the one before.
  bool mayLeaveOut(const Section& section, const StepParameters& step, Progress& progress);
  bool walk(const Section& section, std::byte* stepIo, const StepParameters& step, bool leavesOut, Progress& progress);

  Program program_;
  std::vector<std::unique_ptr<CompiledKernel>> kernels_;
  bool traces_;
  std::uint64_t repeatedTiles_ = 0;
  std::shared_ptr<Network> network_;
  // Of its launches: engines do not share a number.
  PerEngine<std::vector<double>> kernelMilliseconds_;
  std::unique_ptr<Engines> engines_;
};

// Throws Failure unless the images are those that the program's loadImage expects.
void checkImages(const std::vector<Image>& images, const ImageExtent& input);

}  // namespace tilefold
