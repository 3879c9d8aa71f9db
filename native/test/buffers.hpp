// Operands as heap blocks of exactly the bytes that the decoder grants, so that a sanitizer sees
// every byte beyond.
#pragma once
#include <memory>
#include <vector>

#include "program/operand.hpp"
#include "random_kernels.hpp"

namespace tilefold::test {

class Block {
 public:
  // Of elements of so many bytes: 2 is a Bfloat16, 4 a float or an integer, 8 a double, as the
  // decoder grants them.
  explicit Block(std::size_t bytes, std::int64_t element = 4);
  std::byte* data() const { return data_.get(); }
  std::size_t bytes() const { return bytes_; }
  std::int64_t element() const { return element_; }
  float* floats() const { return reinterpret_cast<float*>(data_.get()); }
  std::size_t floatCount() const { return bytes_ / sizeof(float); }

 private:
  struct Free {
    void operator()(std::byte* data) const;
  };
  std::unique_ptr<std::byte, Free> data_;
  std::size_t bytes_;
  std::int64_t element_;
};

// One block an operand, addressed in the table's order; optional ones are absent when
// `withOptional` is false and none is needed.
struct Operands {
  std::vector<Block> blocks;
  std::vector<Operand> operands;
};
Operands allocate(const Kernel& kernel, Device& device, bool withOptional);

// Random numbers between -1 and 1; small ones, so that sums agree closely.
void fillFloats(Block& block, Random& random);

// Images that cover the crop that any random loadImage reads, and a step number above 0.
struct Step {
  Step();
  std::vector<std::uint8_t> pixels;
  StepParameters parameters;
  void useFor(const LoadImage& load);
};

}  // namespace tilefold::test
