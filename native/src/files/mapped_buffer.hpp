// Memory that lies in a file, for what is written once and may be larger than the machine's memory.
#pragma once
#include <cstddef>
#include <string>

namespace tilefold {

class MappedBuffer {
 public:
  // The first `bytes` bytes of a file that can be written; it becomes as long, and has its place on
  // the disk from then on. Throws Failure. Callers take its name away, as those of MappedFile do.
  MappedBuffer(const std::string& path, std::size_t bytes);
  ~MappedBuffer();
  MappedBuffer(const MappedBuffer&) = delete;
  MappedBuffer& operator=(const MappedBuffer&) = delete;

  void* data() const { return mapping_; }
  std::size_t bytes() const { return bytes_; }
  // Takes all of it out of the process's memory, whoever writes to it meanwhile: what it holds
  // stays, in the file, and comes back where it is touched.
  void leaveToFile() const;
  // Whether single places are written or read from here on, of which each then brings one page into
  // memory, or all from the beginning, ahead of which the system may read.
  void expectScattered(bool isScattered) const;

 private:
  std::size_t bytes_;
  void* mapping_ = nullptr;
};

}  // namespace tilefold
