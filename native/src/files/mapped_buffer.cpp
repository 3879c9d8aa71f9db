#include "mapped_buffer.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "../failure.hpp"

namespace tilefold {

MappedBuffer::MappedBuffer(const std::string& path, std::size_t bytes) : bytes_(bytes) {
  if (bytes == 0) throw Failure(path + ": a buffer of no bytes cannot be mapped");
  const int descriptor = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) throw Failure(path + ": cannot be opened (" + std::strerror(errno) + ")");
  // A page that found no place when it is first written would end the process.
  const int fault = posix_fallocate(descriptor, 0, static_cast<off_t>(bytes));
  void* const mapped = fault == 0 ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0) : MAP_FAILED;
  const int reason = fault == 0 ? errno : fault;
  close(descriptor);
  if (mapped == MAP_FAILED) throw Failure(path + ": " + std::to_string(bytes) + " bytes cannot be mapped (" + std::strerror(reason) + ")");
  mapping_ = mapped;
}

MappedBuffer::~MappedBuffer() { munmap(mapping_, bytes_); }

void MappedBuffer::leaveToFile() const {
  if (madvise(mapping_, bytes_, MADV_DONTNEED) != 0)
    throw Failure(std::string("memory cannot be left to its file (") + std::strerror(errno) + ")");
}

void MappedBuffer::expectScattered(bool isScattered) const {
  if (madvise(mapping_, bytes_, isScattered ? MADV_RANDOM : MADV_SEQUENTIAL) != 0)
    throw Failure(std::string("memory in a file cannot be prepared (") + std::strerror(errno) + ")");
}

}  // namespace tilefold
