// Virtual addressing on the GPU (../chunked_arena.hpp is the machine's own): a range of addresses
// to which chunks of memory are mapped.
#pragma once
#include <cstddef>
#include <set>
#include <vector>

#include "../program/program.hpp"
#include "driver_api.hpp"

namespace tilefold::cuda {

class ChunkedMemory {
 public:
  // `bytes` of memory for the whole chunks that they hold. Throws NoMemory, or Failure where chunks
  // are none that the GPU maps.
  ChunkedMemory(const Chunks& chunks, std::size_t bytes);
  ChunkedMemory(const ChunkedMemory&) = delete;
  ChunkedMemory& operator=(const ChunkedMemory&) = delete;

  std::byte* data() const { return addresses_.data(); }
  // The same memory from its first chunk to its last, always.
  std::byte* whole() const { return whole_.data(); }
  std::size_t wholeBytes() const { return chunks_.size() * chunkBytes_; }
  std::size_t chunkBytes() const { return chunkBytes_; }

  // All three in whole chunks, as the decoder has proven. Nothing that was queued before may touch
  // what is unmapped. Throws Failure.
  void map(std::size_t address, std::size_t memory, std::size_t bytes) { addresses_.map(address, chunks_, memory, bytes); }
  void unmap(std::size_t address, std::size_t bytes) { addresses_.unmap(address, bytes); }
  // Takes away what a run that did not end left mapped.
  void reset() { addresses_.unmapFrom(residentBytes_); }

 private:
  // Memory of the GPU, by chunks, freed with their owner.
  class Handles {
   public:
    Handles(const DriverApi& driver, std::size_t count, std::size_t chunkBytes);
    ~Handles();
    CUmemGenericAllocationHandle operator[](std::size_t i) const { return handles_[i]; }
    std::size_t size() const { return handles_.size(); }

   private:
    void release() const;
    const DriverApi& driver_;
    std::vector<CUmemGenericAllocationHandle> handles_;
  };
  // Addresses that are taken, and the chunks that they lead to: nowhere at first.
  class Range {
   public:
    Range(const DriverApi& driver, std::size_t bytes, std::size_t chunkBytes);
    ~Range();
    std::byte* data() const { return reinterpret_cast<std::byte*>(first_); }
    void map(std::size_t address, const Handles& chunks, std::size_t memory, std::size_t bytes);
    void unmap(std::size_t address, std::size_t bytes);
    void unmapFrom(std::size_t address);

   private:
    const DriverApi& driver_;
    CUdeviceptr first_ = 0;
    std::size_t bytes_, chunkBytes_;
    std::set<std::size_t> mapped_;  // where each chunk is, noted one by one: one may fail after others
  };

  DriverApi driver_;
  std::size_t chunkBytes_, residentBytes_;
  Handles chunks_;
  Range whole_, addresses_;
};

}  // namespace tilefold::cuda
