// What the interpreter needs of a device: kernels compiled once, launched many times on resolved
// operands.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "files/image_windows.hpp"
#include "kernels/kernels.hpp"

namespace tilefold {

// What a channel of a pixel is stored as, in the machine's order of bytes.
enum class ElementType { uint8, uint16, int16, float32 };
inline std::int64_t bytesOf(ElementType type) { return type == ElementType::uint8 ? 1 : type == ElementType::float32 ? 4 : 2; }

// One image of a step, interleaved (height, width, channels), with the crop's corner and what
// is done to the crop in this step: it is flipped, then turned counter-clockwise. `colour`: the
// rows of a 3x4 matrix that takes (red, green, blue, 1) within 0 .. 1, of uint8. `windows`: where
// its pixels come from instead, as they are needed.
struct Image {
  const std::uint8_t* pixels = nullptr;
  std::int64_t height = 0, width = 0, channels = 0;
  std::int64_t cropTop = 0, cropLeft = 0;
  bool flipHorizontal = false, flipVertical = false;
  std::int64_t quarterTurns = 0;
  std::optional<std::array<double, 12>> colour{};
  ImageWindows* windows = nullptr;
  ElementType elementType = ElementType::uint8;
  std::int64_t pixelBytes() const { return channels * bytesOf(elementType); }
  // Whether the crop lies in the image as wide as the network reads it high.
  bool onItsSide() const { return quarterTurns % 2 == 1; }
};

// What changes from step to step.
struct StepParameters {
  double learningRate = 0;
  std::uint64_t step = 0, seed = 0;
  std::vector<Image> images;
};

// A tile of images each of whose parts is one pixel again and again: their bytes, one image after
// the other, and the number of the first.
struct PlainTile {
  std::int64_t firstImage = 0;
  std::vector<std::uint8_t> pixels;
};

// A resolved operand: an address, or (kind index) a number.
struct Operand {
  std::byte* address = nullptr;
  std::int64_t index = 0;
};

class CompiledKernel {
 public:
  virtual ~CompiledKernel() = default;
  virtual void launch(const std::vector<Operand>& operands, const StepParameters& step) = 0;
  // A launch of a loadImage on the to-device engine, or of a copyBox on the network engine, beside
  // the compute engine's launches.
  virtual void load(const std::vector<Operand>& operands, const StepParameters& step) { launch(operands, step); }
  // Of a loadImage: whether the tile is `before`, which is this tile then, or empty where the tile
  // is not plain: not the same pixel of each image again and again. Of a device that has taken the
  // step's images; else no tile is.
  virtual bool repeats(std::optional<PlainTile>& before, const std::vector<Operand>&) {
    before.reset();
    return false;
  }
  // Of a device that does not queue, a launch of a loadImage that leaves its operand as it is where
  // the tile is `before`, as of repeats(). Says whether it loaded.
  virtual bool loadUnless(std::optional<PlainTile>& before, const std::vector<Operand>& operands, const StepParameters& step) {
    if (repeats(before, operands)) return false;
    launch(operands, step);
    return true;
  }
};

class Engines;
struct Spaces;

// One way to compute a convolution: its code in the field `algorithm`, and the bytes of its
// scratch.
struct Algorithm {
  std::int64_t code = 0;
  std::size_t scratchBytes = 0;
};

// What is known of a device before anything is measured on it.
struct DeviceProperties {
  std::string name, library;
  double flopsPerSecond = 0, bytesPerSecond = 0, launchSeconds = 0, multiprocessors = 1, memoryBytes = 0;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual Precision precision() const = 0;
  // Throws Failure (a sentence) when the device has no such kernel.
  virtual std::unique_ptr<CompiledKernel> compile(const Kernel& kernel) = 0;
  // Bytes of the `scratch` and `indices` operands.
  virtual std::size_t scratchBytes(const Kernel& kernel) = 0;
  virtual std::size_t indicesBytes(const Kernel& kernel) = 0;
  virtual Layout activationLayout(std::int64_t channels, bool input) = 0;
  struct WeightLayouts {
    Layout stored, forward, backwardData;  // stored: of the weights and their gradients
  };
  // `kernel` is a convolutionForward whose weightLayout is not yet decided (any value).
  virtual WeightLayouts weightLayouts(const Kernel& kernel) = 0;
  // The ways to compute a convolution beside its own (algorithm 0), fastest first as far as the
  // device knows.
  virtual std::vector<Algorithm> algorithms(const Kernel&) { return {}; }
  virtual std::optional<DeviceProperties> properties() { return std::nullopt; }
  // Memory and engines for one program; the device outlives them. `linkBytesPerSecond` bounds
  // either direction between device and host; 0: unlimited. Throws NoMemory or Failure.
  virtual std::unique_ptr<Engines> engines(const Spaces& spaces, double linkBytesPerSecond);
};

}  // namespace tilefold
