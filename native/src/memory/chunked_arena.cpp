#include "chunked_arena.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

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
  if (!memory_.mapOver(data() + address, memory, bytes))
    throw Failure(std::to_string(bytes) + " bytes of the arena could not be mapped (" + reason() + "): plan with larger chunks");
  mapped_ += bytes;
}

void ChunkedArena::unmap(std::size_t address, std::size_t bytes) {
  hide(address, bytes);
  mapped_ -= bytes;
}

void ChunkedArena::hide(std::size_t address, std::size_t bytes) {
  void* const mapped = mmap(data() + address, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
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
