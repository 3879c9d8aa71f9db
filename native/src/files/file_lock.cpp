#include "file_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "../failure.hpp"

namespace tilefold {
namespace {

[[noreturn]] void fail(const std::string& path) { throw Failure(path + ": cannot be written (" + std::strerror(errno) + ")"); }

// File systems that know no locks say so in several ways.
bool isUnsupported(int error) { return error == ENOTSUP || error == EOPNOTSUPP || error == ENOSYS || error == ENOLCK || error == EINVAL; }

}  // namespace

FileLock::Taken FileLock::take(const std::string& path, const std::string& owner) {
  for (;;) {
    const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor < 0) fail(path);
    auto lock = std::make_unique<FileLock>(path, descriptor);
    if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
      if (errno == EINTR) continue;
      if (errno == EWOULDBLOCK) return {Answer::held, nullptr};
      if (isUnsupported(errno)) return {Answer::unsupported, nullptr};
      fail(path);
    }
    // Who held it before may have removed the file between its opening and its locking: then
    // another has the name.
    if (!lock->stillNamed()) continue;
    lock->removes_ = true;
    lock->write(owner);
    return {Answer::taken, std::move(lock)};
  }
}

bool FileLock::stillNamed() const {
  struct stat held {}, named {};
  return fstat(descriptor_, &held) == 0 && stat(path_.c_str(), &named) == 0 && held.st_dev == named.st_dev && held.st_ino == named.st_ino;
}

void FileLock::write(const std::string& text) const {
  const auto length = static_cast<ssize_t>(text.size());
  if (ftruncate(descriptor_, 0) != 0 || pwrite(descriptor_, text.data(), text.size(), 0) != length) fail(path_);
}

FileLock::~FileLock() {
  // Removed before it is given back: whoever opened it meanwhile sees that it has lost its name.
  // Where somebody removed it before, another's lock may have the name.
  if (removes_ && stillNamed()) unlink(path_.c_str());
  close(descriptor_);
}

}  // namespace tilefold
