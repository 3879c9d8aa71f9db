// What the kernels of a launch read of its operands, on any device.
#pragma once
#include <vector>

#include "bfloat16.hpp"
#include "../device.hpp"
#include "resampling.hpp"

namespace tilefold {

// Where a tile lies in its tensor.
struct TileOrigin {
  std::int64_t batch = 0, row = 0, column = 0;
};

// What an expression over a tile reads; what it does not read may be null.
template <class T>
struct PointwiseOperands {
  const T* input;
  const T* second;
  const ParameterOf<T>* weight;
  const ParameterOf<T>* bias;
  const T* gradient;
};

// Operands in the order of the kernel's row in the table.
struct LaunchOperands {
  const std::vector<Operand>& operands;

  template <class T>
  T* at(std::size_t i) const {
    return reinterpret_cast<T*>(operands[i].address);
  }
  // Of a kernel that maps coordinates between whole tensors.
  ResampledAt resampledAt() const { return {operands[2].index, operands[3].index, operands[4].index, operands[5].index}; }
  // The first four operands, and the gradient.
  template <class T>
  PointwiseOperands<T> leaves(const T* gradient) const {
    return {at<T>(0), at<T>(1), at<ParameterOf<T>>(2), at<ParameterOf<T>>(3), gradient};
  }
  TileOrigin originInPlane(std::size_t first) const { return {0, operands[first].index, operands[first + 1].index}; }
  TileOrigin origin(std::size_t first) const { return {operands[first].index, operands[first + 1].index, operands[first + 2].index}; }
};

}  // namespace tilefold
