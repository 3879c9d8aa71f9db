#include "buffers.hpp"

#include <cstdlib>
#include <new>

#include "kernels/bfloat16.hpp"

namespace tilefold::test {
namespace {

constexpr std::size_t alignment = 64;  // as staging places buffers
constexpr std::int64_t imageSide = 16, imageCount = 4;

std::byte* allocated(std::size_t bytes) {
  void* data = nullptr;
  if (posix_memalign(&data, alignment, bytes) != 0) throw std::bad_alloc();
  return static_cast<std::byte*>(data);
}

}  // namespace

Block::Block(std::size_t bytes, std::int64_t element) : data_(allocated(bytes)), bytes_(bytes), element_(element) { std::fill_n(data_.get(), bytes, std::byte{0}); }

void Block::Free::operator()(std::byte* data) const { std::free(data); }

Operands allocate(const Kernel& kernel, Device& device, bool withOptional) {
  Operands result;
  for (const OperandExtent& extent : operandExtents(kernel, device)) {
    result.blocks.emplace_back(static_cast<std::size_t>(extent.bytes), extent.alignment);
    Operand operand;
    if (extent.bytes > 0 && (withOptional || !extent.optional)) operand.address = result.blocks.back().data();
    result.operands.push_back(operand);
  }
  return result;
}

void fillFloats(Block& block, Random& random) {
  std::uniform_real_distribution<float> values(-1, 1);
  if (block.element() == 2)
    for (std::size_t i = 0; i < block.bytes() / 2; ++i) reinterpret_cast<Bfloat16*>(block.data())[i] = values(random);
  else
    for (std::size_t i = 0; i < block.floatCount(); ++i) block.floats()[i] = values(random);
}

Step::Step() : pixels(static_cast<std::size_t>(imageSide * imageSide * 4)) {
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(i * 37 % 256);
  parameters.learningRate = 0.1;
  parameters.step = 3;
  parameters.seed = 7;
}

void Step::useFor(const LoadImage& load) {
  parameters.images.clear();
  for (std::int64_t i = 0; i < imageCount; ++i) {
    Image image;
    image.pixels = pixels.data();
    image.height = image.width = imageSide;
    image.channels = load.channels;
    image.quarterTurns = 3 - i;
    if (i % 2 == 1 && load.channels == 3) image.colour = {0.9, 0.2, -0.1, 0.1, 0, 1.5, 0, -0.2, 0.3, 0.3, 0.3, 0};
    image.cropTop = imageSide - (image.onItsSide() ? load.fullWidth : load.fullHeight);
    image.cropLeft = i;
    image.flipHorizontal = i % 2 == 1;
    image.flipVertical = i / 2 == 1;
    parameters.images.push_back(image);
  }
}

}  // namespace tilefold::test
