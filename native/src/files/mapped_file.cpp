#include "mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "../failure.hpp"

namespace tilefold {
namespace {

class OpenFile {
 public:
  explicit OpenFile(const std::string& path) : descriptor_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~OpenFile() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

}  // namespace

MappedFile::MappedFile(const std::string& path, std::size_t offset, std::size_t bytes) : offset_(offset), bytes_(bytes) {
  const OpenFile file(path);
  struct stat found {};
  if (file.descriptor() < 0 || fstat(file.descriptor(), &found) != 0)
    throw Failure(path + ": cannot be opened (" + std::strerror(errno) + ")");
  const auto length = static_cast<std::size_t>(found.st_size);
  if (bytes == 0 || offset > length || bytes > length - offset)
    throw Failure(path + ": has " + std::to_string(length) + " bytes, too few for " + std::to_string(bytes) + " from " +
                  std::to_string(offset) + " on");
  mapping_ = mmap(nullptr, offset + bytes, PROT_READ, MAP_SHARED, file.descriptor(), 0);
  if (mapping_ == MAP_FAILED) throw Failure(path + ": cannot be mapped (" + std::strerror(errno) + ")");
}

MappedFile::~MappedFile() { munmap(mapping_, offset_ + bytes_); }

}  // namespace tilefold
