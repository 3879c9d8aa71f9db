// The arena: memory of the device, at addresses of its own or mapped to others.
#pragma once
#include <optional>

#include "../engines/engines.hpp"
#include "chunked_memory.hpp"
#include "memory.hpp"

namespace tilefold::cuda {

class DeviceArena {
 public:
  explicit DeviceArena(const Spaces& spaces) : bytes_(spaces.arenaBytes) {
    if (spaces.chunks.chunkBytes == 0)
      memory_ = deviceMemory<std::byte>(bytes_, "taking the arena of the device's memory");
    else
      chunks_.emplace(spaces.chunks, bytes_);
  }
  ChunkedMemory* chunks() { return chunks_ ? &*chunks_ : nullptr; }
  std::byte* data() const { return chunks_ ? chunks_->data() : memory_.get(); }
  std::byte* memory() const { return chunks_ ? chunks_->whole() : memory_.get(); }
  std::size_t memoryBytes() const { return chunks_ ? chunks_->wholeBytes() : bytes_; }
  std::size_t wholeChunks(std::size_t bytes) const {
    const std::size_t unit = chunks_ ? chunks_->chunkBytes() : 1;
    return (bytes + unit - 1) / unit * unit;
  }

 private:
  std::size_t bytes_;
  DeviceMemory<std::byte> memory_;  // one of these
  std::optional<ChunkedMemory> chunks_;
};

}  // namespace tilefold::cuda
