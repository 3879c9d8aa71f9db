// What the kernel of gradients of weights by warpgroups goes through.
#pragma once
#include <cstdint>

#include "warpgroup.cuh"

namespace tilefold::cuda {

// Pixels of a row that are multiplied at once, and the channels of both sides of a block.
template <class T>
constexpr int pixelsAtOnce = tileRowBytes / sizeof(T);
constexpr int blockChannels = 64, gradientTaps = 3;
// Elements from pixel to pixel in shared memory: the loads of a warp meet all banks.
constexpr int sourcePitch = blockChannels + 8;

// Rows of the source, cut into pieces of pixelsAtOnce, ordered so that a row's taps are those of
// the row before: by columns of rows that are a dilation apart.
struct GradientRows {
  std::int32_t height, width, outHeight, outWidth, inChannels, outChannels;
  std::int32_t dilationHeight, dilationWidth, padTop, padLeft;
  std::int32_t pieces, rowsOfColumn;
  // Pixels of the source that a piece needs: a window for each tap of a row, so many pixels apart
  // in shared memory. They are one span where they overlap, else one each.
  std::int32_t windowsApart, spans, spanPixels;
  std::int32_t stages, stageBytes;
  std::int64_t steps;
};

// The rows of one block, one after another. Before the first row of a column come two steps that
// only take what the lower taps of that row need.
class RowSteps {
 public:
  __device__ RowSteps(const GradientRows& rows, std::int64_t part, std::int64_t parts) : rows_(rows) {
    const std::int64_t first = rows.steps * part / parts;
    left_ = static_cast<std::int32_t>(rows.steps * (part + 1) / parts - first);
    row_ = static_cast<std::int32_t>(first % rows.rowsOfColumn);
    std::int64_t column = first / rows.rowsOfColumn;
    phase_ = static_cast<std::int32_t>(column % rows.dilationHeight);
    column /= rows.dilationHeight;
    piece_ = static_cast<std::int32_t>(column % rows.pieces);
    image_ = static_cast<std::int32_t>(column / rows.pieces);
  }

  __device__ bool going() const { return left_ > 0; }
  __device__ bool beginsColumn() const { return before_ == gradientTaps - 1; }
  __device__ bool multiplies() const { return before_ == 0; }
  // That the column has from here on.
  __device__ std::int32_t rowsOfColumn() const {
    const std::int32_t behind = rows_.rowsOfColumn - row_;
    return left_ < behind ? left_ : behind;
  }
  __device__ std::int32_t image() const { return image_; }
  __device__ std::int32_t piece() const { return piece_; }
  // Of the source; may lie outside of it.
  __device__ std::int32_t row() const { return phase_ + (row_ - before_) * rows_.dilationHeight; }
  // Of the gradient that meets this row at its first tap; those of the others came before.
  __device__ std::int32_t gradientRow() const { return row() + rows_.padTop; }
  __device__ bool hasGradientRow() const { return static_cast<std::uint32_t>(gradientRow()) < static_cast<std::uint32_t>(rows_.outHeight); }

  __device__ void advance() {
    if (before_ > 0) {
      --before_;
      return;
    }
    --left_;
    if (++row_ < rows_.rowsOfColumn) return;
    row_ = 0;
    before_ = gradientTaps - 1;
    if (++phase_ < rows_.dilationHeight) return;
    phase_ = 0;
    if (++piece_ < rows_.pieces) return;
    piece_ = 0;
    ++image_;
  }

 private:
  const GradientRows& rows_;
  std::int32_t left_, row_, phase_, piece_, image_, before_ = gradientTaps - 1;
};

}  // namespace tilefold::cuda
