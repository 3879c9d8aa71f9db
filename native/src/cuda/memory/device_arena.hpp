// The arena: memory of the device, at addresses of its own or mapped to others.
#pragma once
#include <optional>

#include "../../engines/engines.hpp"
#include "memory.hpp"
#include "paged_memory.hpp"

namespace tilefold::cuda {

class DeviceArena {
 public:
  explicit DeviceArena(const Spaces& spaces) : bytes_(spaces.arenaBytes) {
    if (spaces.pages.pageBytes == 0)
      memory_ = deviceMemory<std::byte>(bytes_, "taking the arena of the device's memory");
    else
      pages_.emplace(spaces.pages, bytes_);
  }
  PagedMemory* pages() { return pages_ ? &*pages_ : nullptr; }
  std::byte* data() const { return pages_ ? pages_->data() : memory_.get(); }
  std::byte* memory() const { return pages_ ? pages_->whole() : memory_.get(); }
  std::size_t memoryBytes() const { return pages_ ? pages_->wholeBytes() : bytes_; }
  std::size_t wholePages(std::size_t bytes) const {
    const std::size_t unit = pages_ ? pages_->pageBytes() : 1;
    return (bytes + unit - 1) / unit * unit;
  }

 private:
  std::size_t bytes_;
  DeviceMemory<std::byte> memory_;  // one of these
  std::optional<PagedMemory> pages_;
};

}  // namespace tilefold::cuda
