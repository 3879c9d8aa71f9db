// What a step gives its kernels: learning rate, numbers and images, copied to where the device
// reads them.
#pragma once
#include <mutex>
#include <vector>

#include "../../engines/engines.hpp"
#include "../context/context.hpp"
#include "memory.hpp"

namespace tilefold::cuda {

// Addresses stay the same from step to step, so that a captured graph finds each step's values.
class StepInput {
 public:
  explicit StepInput(const ImageExtent& images);

  const StepBlock* block() const { return deviceBlock_.get(); }
  // The step's images, for who runs on the processor.
  const ImageBlock* images() const { return images_.get(); }
  // Copies crops' pixels to pinned memory, for a step that claims this number. Any thread, also
  // while a section runs.
  void prepare(std::uint64_t number, const std::vector<Image>& images);
  // What was prepared last, if it was under this number, is what the next set() has, once; 0: is
  // not. Not while a section runs.
  void claim(std::uint64_t number);
  // Copies the step's values, and where images are loaded that are not claimed the crops' pixels,
  // to pinned memory. Not while a section runs.
  void set(const StepParameters& step, bool loadsImages);
  // Queues their copies to the device; pixels stay in pinned memory, where kernels read each but
  // once or twice.
  void upload(cudaStream_t stream) const;

 private:
  // The crops of a step's images.
  struct Crops {
    std::size_t bytes = 0;
    PinnedMemory<std::uint8_t> pixels;
    std::vector<ImageBlock> blocks;
  };

  // By so many threads.
  void fill(Crops& crops, const std::vector<Image>& images, int threads) const;
  // The crop of an image whose pixels are read window by window; as far as the run goes on.
  ImageBlock readWindows(const Image& image, std::uint8_t* to) const;

  ImageExtent extent_;
  Crops crops_;
  bool claimed_ = false;
  std::mutex nextMutex_;  // of the next two
  Crops next_;
  std::uint64_t nextNumber_ = 0;
  PinnedMemory<ImageBlock> images_;
  PinnedMemory<StepBlock> pinnedBlock_;
  DeviceMemory<ImageBlock> deviceImages_;
  DeviceMemory<StepBlock> deviceBlock_;
};

}  // namespace tilefold::cuda
