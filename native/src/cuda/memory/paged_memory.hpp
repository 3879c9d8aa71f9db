// Virtual addressing on the GPU (../memory/paged_arena.hpp is the machine's own): a range of
// addresses to which pages of memory are mapped.
#pragma once
#include <cstddef>
#include <set>
#include <vector>

#include "../../program/program.hpp"
#include "../libraries/driver_api.hpp"

namespace tilefold::cuda {

class PagedMemory {
 public:
  // `bytes` of memory for the whole pages that they hold. Throws NoMemory, or Failure where pages
  // are none that the GPU maps.
  PagedMemory(const Pages& pages, std::size_t bytes);
  PagedMemory(const PagedMemory&) = delete;
  PagedMemory& operator=(const PagedMemory&) = delete;

  std::byte* data() const { return addresses_.data(); }
  // The same memory from its first page to its last, always.
  std::byte* whole() const { return whole_.data(); }
  std::size_t wholeBytes() const { return pages_.size() * pageBytes_; }
  std::size_t pageBytes() const { return pageBytes_; }

  // All three in whole pages, as the decoder has proven. Nothing that was queued before may touch
  // what is unmapped. Throws Failure.
  void map(std::size_t address, std::size_t memory, std::size_t bytes) { addresses_.map(address, pages_, memory, bytes); }
  void unmap(std::size_t address, std::size_t bytes) { addresses_.unmap(address, bytes); }
  // Takes away what a run that did not end left mapped.
  void reset() { addresses_.unmapFrom(residentBytes_); }

 private:
  // Memory of the GPU, by pages, freed with their owner.
  class Handles {
   public:
    Handles(const DriverApi& driver, std::size_t count, std::size_t pageBytes);
    ~Handles();
    CUmemGenericAllocationHandle operator[](std::size_t i) const { return handles_[i]; }
    std::size_t size() const { return handles_.size(); }

   private:
    void release() const;
    const DriverApi& driver_;
    std::vector<CUmemGenericAllocationHandle> handles_;
  };
  // Addresses that are taken, and the pages that they lead to: nowhere at first.
  class Range {
   public:
    Range(const DriverApi& driver, std::size_t bytes, std::size_t pageBytes);
    ~Range();
    std::byte* data() const { return reinterpret_cast<std::byte*>(first_); }
    void map(std::size_t address, const Handles& pages, std::size_t memory, std::size_t bytes);
    void unmap(std::size_t address, std::size_t bytes);
    void unmapFrom(std::size_t address);

   private:
    const DriverApi& driver_;
    CUdeviceptr first_ = 0;
    std::size_t bytes_, pageBytes_;
    // Where each page is, noted one by one: one may fail after others.
    std::set<std::size_t> mapped_;
  };

  DriverApi driver_;
  std::size_t pageBytes_, residentBytes_;
  Handles pages_;
  Range whole_, addresses_;
};

}  // namespace tilefold::cuda
