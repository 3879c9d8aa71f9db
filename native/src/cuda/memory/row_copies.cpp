#include "row_copies.hpp"

#include <algorithm>

namespace tilefold::cuda {
namespace {

constexpr const char* copying = "copying between device and host pool";

// Of the strides of a copy in two dimensions, in bytes: 2 GiB, which channels of 23,171 x 23,171
// numbers pass.
std::int64_t pitchLimit() {
  int bytes = 0;
  check(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxPitch, 0), "asking the GPU");
  return bytes;
}

std::size_t size(std::int64_t bytes) { return static_cast<std::size_t>(bytes); }

}  // namespace

RowCopies::RowCopies() : maxPitch_(pitchLimit()) {}

void RowCopies::queue(cudaStream_t stream, const Rows& to, const Rows& from, std::int64_t rows, std::int64_t rowBytes,
                      cudaMemcpyKind kind) const {
  const bool dense = rows == 1 || (to.stride == rowBytes && from.stride == rowBytes);
  const bool pitched = from.stride >= rowBytes && std::max(to.stride, from.stride) <= maxPitch_;
  const auto copyFrom = [&](std::int64_t row, std::int64_t bytes) {
    check(cudaMemcpyAsync(to.first + row * to.stride, from.first + row * from.stride, size(bytes), kind, stream), copying);
  };
  if (dense)
    copyFrom(0, rows * rowBytes);
  else if (pitched)
    check(cudaMemcpy2DAsync(to.first, size(to.stride), from.first, size(from.stride), size(rowBytes), size(rows), kind, stream), copying);
  else
    for (std::int64_t row = 0; row < rows; ++row) copyFrom(row, rowBytes);
}

}  // namespace tilefold::cuda
