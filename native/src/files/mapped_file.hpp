// Part of a file, mapped for reading.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace tilefold {

class MappedFile {
 public:
  // `bytes` bytes from `offset` on. Throws Failure. Whoever cuts the file meanwhile ends the
  // process, by SIGBUS at the first byte that is gone: so callers take its name away, as
  // src/images/mapped-image-file.ts does.
  MappedFile(const std::string& path, std::size_t offset, std::size_t bytes);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::uint8_t* data() const { return static_cast<const std::uint8_t*>(mapping_) + offset_; }
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t offset_, bytes_;
  void* mapping_ = nullptr;  // from the file's beginning on: a mapping starts at a page
};

}  // namespace tilefold
