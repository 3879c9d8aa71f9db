#include "step_input.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "host_copy.hpp"

namespace tilefold::cuda {
namespace {

// The crop of an image that lies densely in memory; where its pixel (row, column) is once it was
// flipped and turned.
ImageBlock blockOf(const Image& image, const std::uint8_t* pixels, std::int64_t height, std::int64_t width) {
  ImageBlock block{};
  block.pixels = pixels;
  block.channels = image.channels;
  block.rowStep = width;
  block.columnStep = 1;
  if (image.flipVertical) {
    block.origin += (height - 1) * block.rowStep;
    block.rowStep = -block.rowStep;
  }
  if (image.flipHorizontal) {
    block.origin += (width - 1) * block.columnStep;
    block.columnStep = -block.columnStep;
  }
  for (std::int64_t turn = 0; turn < image.quarterTurns; ++turn) {
    block.origin += (width - 1) * block.columnStep;
    block.rowStep = -std::exchange(block.columnStep, block.rowStep);
    std::swap(height, width);
  }
  block.elementType = image.elementType;
  block.hasColour = image.colour ? 1 : 0;
  if (image.colour) std::copy(image.colour->begin(), image.colour->end(), block.colour);
  return block;
}

// Where the crop of each image begins, and behind them where the last one ends.
std::vector<std::size_t> placesOf(const std::vector<Image>& images, std::size_t pixels) {
  constexpr std::size_t elementBytes = 4;  // of the largest, at multiples of which they all lie
  std::vector<std::size_t> places{0};
  for (const Image& image : images) {
    const std::size_t own = pixels * static_cast<std::size_t>(image.pixelBytes());
    places.push_back(places.back() + (own + elementBytes - 1) / elementBytes * elementBytes);
  }
  return places;
}

PinnedMemory<std::uint8_t> pinnedPixels(std::size_t bytes) {
  return pinnedMemory<std::uint8_t>(bytes, "pinning memory for the images");
}

}  // namespace

StepInput::StepInput(const ImageExtent& images)
    : extent_(images),
      images_(pinnedMemory<ImageBlock>(static_cast<std::size_t>(images.batch), "pinning memory for the step's values")),
      pinnedBlock_(pinnedMemory<StepBlock>(1, "pinning memory for the step's values")),
      deviceImages_(deviceMemory<ImageBlock>(static_cast<std::size_t>(images.batch), "taking memory for the step's values")),
      deviceBlock_(deviceMemory<StepBlock>(1, "taking memory for the step's values")) {
  crops_.bytes = static_cast<std::size_t>(images.batch * images.channels * images.height * images.width);
  crops_.pixels = pinnedPixels(crops_.bytes);
}

void StepInput::prepare(std::uint64_t number, const std::vector<Image>& images) {
  const std::lock_guard<std::mutex> lock(nextMutex_);
  nextNumber_ = 0;
  // The step under way leaves it time.
  fill(next_, images, 1);
  nextNumber_ = number;
}

void StepInput::claim(std::uint64_t number) {
  claimed_ = false;
  if (number == 0) return;
  const std::lock_guard<std::mutex> lock(nextMutex_);
  claimed_ = std::exchange(nextNumber_, 0) == number;
  if (claimed_) std::swap(crops_, next_);
}

void StepInput::set(const StepParameters& step, bool loadsImages) {
  *pinnedBlock_ = {step.learningRate, step.step, step.seed, deviceImages_.get()};
  if (!loadsImages) return;
  if (!std::exchange(claimed_, false)) fill(crops_, step.images, copyThreads());
  std::copy_n(crops_.blocks.begin(), std::min<std::size_t>(crops_.blocks.size(), static_cast<std::size_t>(extent_.batch)), images_.get());
}

void StepInput::fill(Crops& crops, const std::vector<Image>& images, int threads) const {
  const std::size_t count = images.size();
  const std::vector<std::size_t> places = placesOf(images, static_cast<std::size_t>(extent_.height * extent_.width));
  if (places.back() > crops.bytes) {
    crops.pixels.reset();
    crops.bytes = 0;
    crops.pixels = pinnedPixels(places.back());
    crops.bytes = places.back();
  }
  crops.blocks.resize(count);
  // Each thread goes through all images, and copies its share of every one's rows.
#pragma omp parallel num_threads(threads)
  for (std::size_t i = 0; i < count; ++i) {
    const Image& image = images[i];
    if (image.windows != nullptr) continue;
    const std::int64_t height = image.onItsSide() ? extent_.width : extent_.height;
    const std::int64_t width = image.onItsSide() ? extent_.height : extent_.width;
    const std::int64_t rowBytes = width * image.pixelBytes();
    std::uint8_t* const to = crops.pixels.get() + places[i];
    const std::uint8_t* const from = image.pixels + (image.cropTop * image.width + image.cropLeft) * image.pixelBytes();
#pragma omp for schedule(static) nowait
    for (std::int64_t row = 0; row < height; ++row)
      std::memcpy(to + row * rowBytes, from + row * image.width * image.pixelBytes(), static_cast<std::size_t>(rowBytes));
#pragma omp single nowait
    crops.blocks[i] = blockOf(image, to, height, width);
  }
  for (std::size_t i = 0; i < count; ++i)
    if (images[i].windows != nullptr) crops.blocks[i] = readWindows(images[i], crops.pixels.get() + places[i]);
}

ImageBlock StepInput::readWindows(const Image& image, std::uint8_t* to) const {
  const std::int64_t height = image.onItsSide() ? extent_.width : extent_.height;
  const std::int64_t width = image.onItsSide() ? extent_.height : extent_.width;
  const std::int64_t pixelBytes = image.pixelBytes();
  for (const ImageWindow& window : image.windows->split({image.cropTop, image.cropLeft, height, width})) {
    const std::optional<ImageWindows::Pixels> pixels = image.windows->take(window);
    if (!pixels) break;
    for (std::int64_t row = 0; row < window.height; ++row)
      std::memcpy(to + ((window.top - image.cropTop + row) * width + window.left - image.cropLeft) * pixelBytes,
                  pixels->data() + row * window.width * pixelBytes, static_cast<std::size_t>(window.width * pixelBytes));
  }
  return blockOf(image, to, height, width);
}

void StepInput::upload(cudaStream_t stream) const {
  const auto copy = [stream](void* to, const void* from, std::size_t bytes) {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream), "copying the step's values");
  };
  copy(deviceBlock_.get(), pinnedBlock_.get(), sizeof(StepBlock));
  if (extent_.batch > 0) copy(deviceImages_.get(), images_.get(), static_cast<std::size_t>(extent_.batch) * sizeof(ImageBlock));
}

}  // namespace tilefold::cuda
