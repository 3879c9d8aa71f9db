// What a step gives its kernels: learning rate, numbers and images, copied to where the device
// reads them.
#pragma once
#include <vector>

#include "../engines/engines.hpp"
#include "context.hpp"
#include "memory.hpp"

namespace tilefold::cuda {

// Addresses stay the same from step to step, so that a captured graph finds each step's values.
class StepInput {
 public:
  explicit StepInput(const ImageExtent& images);

  const StepBlock* block() const { return deviceBlock_.get(); }
  // The step's images, for who runs on the processor.
  const ImageBlock* images() const { return images_.get(); }
  // Copies the step's values, and where images are loaded the crops' pixels, to pinned memory. Not
  // while a section runs.
  void set(const StepParameters& step, bool loadsImages);
  // Queues their copies to the device; pixels stay in pinned memory, where kernels read each but
  // once or twice.
  void upload(cudaStream_t stream) const;

 private:
  // Where the crop of each image lies in the pinned memory, which is taken anew where they need
  // more than before.
  std::vector<std::size_t> placePixels(const std::vector<Image>& images, std::size_t count);
  // The crop of an image whose pixels are read window by window; as far as the run goes on.
  void setByWindows(std::size_t index, const Image& image, std::uint8_t* to);

  ImageExtent extent_;
  std::size_t pixelBytes_;
  PinnedMemory<std::uint8_t> pixels_;
  PinnedMemory<ImageBlock> images_;
  PinnedMemory<StepBlock> pinnedBlock_;
  DeviceMemory<ImageBlock> deviceImages_;
  DeviceMemory<StepBlock> deviceBlock_;
};

}  // namespace tilefold::cuda
