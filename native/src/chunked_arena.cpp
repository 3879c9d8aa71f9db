#include "chunked_arena.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "arena.hpp"
#include "pattern.hpp"

namespace tilefold {
namespace {

std::size_t pageBytes() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

std::string reason() { return std::strerror(errno); }

const Chunks& checked(const Chunks& chunks) {
  if (chunks.chunkBytes % pageBytes() != 0)
    throw Failure("chunks of " + std::to_string(chunks.chunkBytes) + " bytes are no whole pages of " + std::to_string(pageBytes()) +
                  " bytes: plan with chunks of a multiple of that");
  return chunks;
}

// Memory of a file, somewhere, for as long as this lives.
class View {
 public:
  View(const MemoryFile& file, int protection) : bytes_(file.bytes()) {
    if (bytes_ == 0) return;
    void* const view = mmap(nullptr, bytes_, protection, MAP_SHARED, file.descriptor(), 0);
    if (view == MAP_FAILED) throw Failure("the arena's memory could not be looked at (" + reason() + ")");
    data_ = static_cast<std::byte*>(view);
  }
  ~View() {
    if (data_ != nullptr) munmap(data_, bytes_);
  }
  View(const View&) = delete;
  View& operator=(const View&) = delete;

  std::byte* data() const { return data_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_;
};

}  // namespace

MemoryFile::MemoryFile(std::size_t bytes) : bytes_(bytes) {
  requireAvailable(bytes, "arena", "budget");
  descriptor_ = memfd_create("tilefold arena", MFD_CLOEXEC);
  if (descriptor_ == -1) throw Failure("no memory file could be made for chunks (" + reason() + "): place buffers by static");
  // Reserved now, since a page that is missing later ends the process.
  if (bytes > 0 && fallocate(descriptor_, 0, 0, static_cast<off_t>(bytes)) != 0) {
    const std::string why = reason();
    close(descriptor_);
    throw NoMemory("the arena of " + std::to_string(bytes) + " bytes could not be reserved (" + why + "): give a smaller budget");
  }
}

MemoryFile::~MemoryFile() { close(descriptor_); }

AddressRange::AddressRange(std::size_t bytes) : bytes_(bytes + pageBytes()) {
  void* const range = mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED)
    throw NoMemory("a range of " + std::to_string(bytes) + " addresses could not be reserved (" + reason() + "): give smaller chunks");
  data_ = static_cast<std::byte*>(range);
}

AddressRange::~AddressRange() { munmap(data_, bytes_); }

ChunkedArena::ChunkedArena(const Chunks& chunks, std::size_t bytes)
    : chunks_(checked(chunks)), memory_(bytes / chunks.chunkBytes * chunks.chunkBytes), addresses_(chunks.addressBytes) {
  if (memory_.bytes() > 0) fillPattern(View(memory_, PROT_READ | PROT_WRITE).data(), memory_.bytes());
  if (chunks_.residentBytes > 0) map(0, 0, chunks_.residentBytes);
  mapped_ = 0;
}

void ChunkedArena::map(std::size_t address, std::size_t memory, std::size_t bytes) {
  // With its pages, which would otherwise come one by one, each by a fault.
  void* const mapped = mmap(data() + address, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_POPULATE, memory_.descriptor(),
                            static_cast<off_t>(memory));
  if (mapped == MAP_FAILED)
    throw Failure(std::to_string(bytes) + " bytes of the arena could not be mapped (" + reason() + "): plan with larger chunks");
  mapped_ += bytes;
}

void ChunkedArena::unmap(std::size_t address, std::size_t bytes) {
  hide(address, bytes);
  mapped_ -= bytes;
}

void ChunkedArena::hide(std::size_t address, std::size_t bytes) {
  void* const mapped =
      mmap(data() + address, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED)
    throw Failure(std::to_string(bytes) + " bytes of the arena could not be unmapped (" + reason() + "): plan with larger chunks");
}

void ChunkedArena::reset() {
  if (mapped_ == 0) return;
  hide(chunks_.residentBytes, chunks_.addressBytes - chunks_.residentBytes);
  mapped_ = 0;
}

std::size_t ChunkedArena::highestChangedByte() const {
  const std::size_t highest = highestChange(View(memory_, PROT_READ).data(), memory_.bytes());
  return (highest + chunks_.chunkBytes - 1) / chunks_.chunkBytes * chunks_.chunkBytes;
}

}  // namespace tilefold
