// A lock that the system gives back whatever becomes of the process that holds it.
#pragma once
#include <memory>
#include <string>

namespace tilefold {

class FileLock {
 public:
  enum class Answer { taken, held, unsupported };
  struct Taken;

  // Takes the lock of a file, which is made if need be and holds `owner` then. Nobody else has it,
  // in this process neither. Throws Failure.
  static Taken take(const std::string& path, const std::string& owner);

  // Takes an open file over.
  FileLock(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
  // Removes the file and gives the lock back.
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  bool stillNamed() const;
  void write(const std::string& text) const;

  std::string path_;
  int descriptor_;
  bool removes_ = false;
};

struct FileLock::Taken {
  Answer answer;
  std::unique_ptr<FileLock> lock;
};

}  // namespace tilefold
