#include "paged_arena.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "pattern.hpp"

namespace tilefold {
namespace {

std::size_t systemPageBytes() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

std::string reason() { return std::strerror(errno); }

const Pages& checked(const Pages& pages) {
  if (pages.pageBytes % systemPageBytes() != 0)
    throw Failure("pages of " + std::to_string(pages.pageBytes) + " bytes are no multiple of the system's pages of " +
                  std::to_string(systemPageBytes()) + " bytes: plan with pages of a multiple of that");
  return pages;
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

AddressRange::AddressRange(std::size_t bytes) : bytes_(bytes + systemPageBytes()) {
  void* const range = mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED)
    throw NoMemory("a range of " + std::to_string(bytes) + " addresses could not be reserved (" + reason() + "): give smaller pages");
  data_ = static_cast<std::byte*>(range);
}

AddressRange::~AddressRange() { munmap(data_, bytes_); }

PagedArena::PagedArena(const Pages& pages, std::size_t bytes)
    : pages_(checked(pages)), memory_(bytes / pages.pageBytes * pages.pageBytes), addresses_(pages.addressBytes) {
  if (memory_.bytes() > 0) fillPattern(View(memory_, PROT_READ | PROT_WRITE).data(), memory_.bytes());
  if (pages_.residentBytes > 0) map(0, 0, pages_.residentBytes);
  mapped_ = 0;
}

void PagedArena::map(std::size_t address, std::size_t memory, std::size_t bytes) {
  if (!memory_.mapOver(data() + address, memory, bytes))
    throw Failure(std::to_string(bytes) + " bytes of the arena could not be mapped (" + reason() + "): plan with larger pages");
  mapped_ += bytes;
}

void PagedArena::unmap(std::size_t address, std::size_t bytes) {
  hide(address, bytes);
  mapped_ -= bytes;
}

void PagedArena::hide(std::size_t address, std::size_t bytes) {
  void* const mapped = mmap(data() + address, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED)
    throw Failure(std::to_string(bytes) + " bytes of the arena could not be unmapped (" + reason() + "): plan with larger pages");
}

void PagedArena::reset() {
  if (mapped_ == 0) return;
  hide(pages_.residentBytes, pages_.addressBytes - pages_.residentBytes);
  mapped_ = 0;
}

std::size_t PagedArena::highestChangedByte() const {
  const std::size_t highest = highestChange(View(memory_, PROT_READ).data(), memory_.bytes());
  return (highest + pages_.pageBytes - 1) / pages_.pageBytes * pages_.pageBytes;
}

}  // namespace tilefold
