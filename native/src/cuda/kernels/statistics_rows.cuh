// Where the elements of rows of statistics lie in a tile.
#pragma once
#include "../../kernels/kernel_fields.hpp"
#include "divisor.cuh"

namespace tilefold::cuda {

// A row of statistics: the channels of a group, of one image or of all.
struct StatisticsRow {
  std::int64_t row, image, group, first;  // `first`: its first element
};

// Where the elements of rows lie: each has `runs` runs of `together` elements next to each other,
// `stride` apart.
class StatisticsRows {
 public:
  StatisticsRows(const Tile& t, std::int64_t groups, bool perImage)
      : StatisticsRows(t.layout, t.batch, t.channels, t.height * t.width, groups, perImage) {}
  StatisticsRows(Layout layout, std::int64_t batch, std::int64_t channels, std::int64_t pixels, std::int64_t groups, bool perImage)
      : images_(perImage ? batch : 1), groups_(groups), imageStride_(channels * pixels), byGroups_(groups) {
    const bool channelsLast = layout == Layout::nhwc;
    const std::int64_t ofGroup = channels / groups;
    groupStride_ = together_ = channelsLast ? ofGroup : ofGroup * pixels;
    runs_ = (perImage ? 1 : batch) * (channelsLast ? pixels : 1);
    stride_ = channelsLast ? channels : channels * pixels;
    if (stride_ != together_) return;
    together_ *= runs_;
    runs_ = 1;
  }

  __host__ __device__ std::int64_t count() const { return images_ * groups_; }
  // Elements of a row.
  __host__ __device__ std::int64_t length() const { return runs_ * together_; }
  std::int64_t runs() const { return runs_; }
  std::int64_t together() const { return together_; }
  __host__ __device__ std::int64_t stride() const { return stride_; }
  // Whether neighbouring elements belong to neighbouring rows.
  bool columns() const { return together_ == 1; }
  // Whether packs of elements stay in a run, or packs of columns in an image, and begin at
  // multiples of the pack's width.
  bool inPacks(int width) const {
    return imageStride_ % width == 0 && stride_ % width == 0 &&
           (columns() ? groups_ % width == 0 : together_ % width == 0 && groupStride_ % width == 0);
  }

  __device__ StatisticsRow row(std::int64_t index) const {
    const Division at = byGroups_(index);
    return {index, at.quotient, at.remainder, at.quotient * imageStride_ + at.remainder * groupStride_};
  }

 private:
  std::int64_t images_, groups_, runs_ = 1, together_ = 1, stride_ = 1, imageStride_, groupStride_ = 1;
  Divisor byGroups_;
};

}  // namespace tilefold::cuda
