// memory_file.hpp by memfd_create, fallocate and MAP_POPULATE, which Linux alone has.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "arena.hpp"
#include "../failure.hpp"
#include "memory_file.hpp"

namespace tilefold {

MemoryFile::MemoryFile(std::size_t bytes) : bytes_(bytes) {
  requireAvailable(bytes, "arena", "budget");
  descriptor_ = memfd_create("tilefold arena", MFD_CLOEXEC);
  if (descriptor_ == -1)
    throw Failure("no memory file could be made for pages (" + std::string(std::strerror(errno)) + "): place buffers by static");
  // Reserved now, since a page that is missing later ends the process.
  if (bytes > 0 && fallocate(descriptor_, 0, 0, static_cast<off_t>(bytes)) != 0) {
    const std::string why = std::strerror(errno);
    close(descriptor_);
    throw NoMemory("the arena of " + std::to_string(bytes) + " bytes could not be reserved (" + why + "): give a budget, or a smaller one");
  }
}

MemoryFile::~MemoryFile() { close(descriptor_); }

bool MemoryFile::mapOver(void* address, std::size_t offset, std::size_t bytes) const {
  return mmap(address, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_POPULATE, descriptor_, static_cast<off_t>(offset)) !=
         MAP_FAILED;
}

}  // namespace tilefold
