// Memory that can be mapped at several addresses.
#pragma once
#include <cstddef>

namespace tilefold {

// A file that is memory, under a descriptor of its own.
class MemoryFile {
 public:
  // Of memory that is there, not only promised. Throws NoMemory or Failure.
  explicit MemoryFile(std::size_t bytes);
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  int descriptor() const { return descriptor_; }
  // Maps a part over what `address` leads to, with its pages, which would otherwise come one by
  // one, each by a fault. Whether it could; errno says why not.
  bool mapOver(void* address, std::size_t offset, std::size_t bytes) const;
  std::size_t bytes() const { return bytes_; }

 private:
  int descriptor_ = -1;
  std::size_t bytes_ = 0;
};

}  // namespace tilefold
