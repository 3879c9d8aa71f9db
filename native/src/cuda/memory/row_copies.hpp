// Rows of bytes between the device and the host, in as few copies as CUDA takes them.
#pragma once
#include "../../engines/engines.hpp"
#include "../context/check.hpp"

namespace tilefold::cuda {

class RowCopies {
 public:
  // Of the current CUDA device.
  RowCopies();
  void queue(cudaStream_t stream, const Rows& to, const Rows& from, std::int64_t rows, std::int64_t rowBytes, cudaMemcpyKind kind) const;

 private:
  std::int64_t maxPitch_;
};

}  // namespace tilefold::cuda
