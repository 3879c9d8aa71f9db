// A Program as staging/program.ts encodes it, decoded and proven: whatever arrives, what runs stays inside its spaces.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "device.hpp"
#include "kernels.hpp"

namespace tilefold {

// ---- as it arrives -------------------------------------------------------------------------------------------------

struct EncodedSection {
  std::string name;
  std::vector<double> code;
  double exchangeBytes = 0;
};

struct EncodedProgram {
  double arenaBytes = 0, peakBytes = 0;
  std::array<double, 4> input{};  // [B, C, H, W] of the images that loadImage reads
  std::vector<double> kernels;    // [code, ...fields] of one kernel after the other
  std::vector<EncodedSection> sections;
};

// ---- as it runs ----------------------------------------------------------------------------------------------------

enum class Space : int { none, arena, exchange, index };

constexpr std::size_t axisCount = 3;  // tile axes B, H, W

struct Address {
  Space space = Space::none;
  std::int64_t base = 0;
  std::array<std::int64_t, axisCount> strides{};
};

struct Launch {
  std::size_t kernel = 0;
  std::vector<Address> operands;
};

struct Loop;
using Instruction = std::variant<Launch, Loop>;

struct Loop {
  std::size_t axis = 0;
  std::int64_t count = 0;
  std::vector<Instruction> body;
};

struct Section {
  std::string name;
  std::vector<Instruction> code;
  std::size_t exchangeBytes = 0;
  bool loadsImages = false;
};

struct ImageExtent {
  std::int64_t batch = 0, channels = 0, height = 0, width = 0;
};

struct Program {
  std::size_t arenaBytes = 0, peakBytes = 0;
  ImageExtent input;
  std::vector<Kernel> kernels;
  std::vector<Section> sections;
};

// Throws Failure, one sentence, for anything that is not a whole and sound program for this device.
Program decodeProgram(const EncodedProgram& encoded, Device& device);

}  // namespace tilefold
