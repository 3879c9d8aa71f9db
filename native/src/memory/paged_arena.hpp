// Virtual addressing: a range of addresses, all inaccessible but where pages of memory are mapped.
#pragma once
#include <cstddef>

#include "memory_file.hpp"
#include "../program/program.hpp"

namespace tilefold {

// Addresses that are taken and lead nowhere, with an inaccessible page behind them.
class AddressRange {
 public:
  explicit AddressRange(std::size_t bytes);
  ~AddressRange();
  AddressRange(const AddressRange&) = delete;
  AddressRange& operator=(const AddressRange&) = delete;

  std::byte* data() const { return data_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

class PagedArena {
 public:
  // `bytes` of memory for the whole pages that they hold. Throws NoMemory, or Failure where pages
  // are no multiple of the system's.
  PagedArena(const Pages& pages, std::size_t bytes);

  std::byte* data() const { return addresses_.data(); }
  // All three in whole pages, as the decoder has proven. Throws Failure.
  void map(std::size_t address, std::size_t memory, std::size_t bytes);
  void unmap(std::size_t address, std::size_t bytes);
  // Takes away what a run that did not end left mapped.
  void reset();
  // The end of the highest page in which any byte was changed (0: none was). Throws Failure.
  std::size_t highestChangedByte() const;

 private:
  void hide(std::size_t address, std::size_t bytes);

  Pages pages_;
  MemoryFile memory_;
  AddressRange addresses_;
  std::size_t mapped_ = 0;  // bytes, beside what is resident
};

}  // namespace tilefold
