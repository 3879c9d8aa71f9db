// The labels of a tile's pixels, which come from outside.
#pragma once
#include <limits>

#include "kernel_fields.hpp"

namespace tilefold {

constexpr std::int32_t ignoredPixel = -1;

// Each is read once, so that what was checked is what is used, whoever writes there meanwhile.
class PixelLabels {
 public:
  PixelLabels(const PixelCrossEntropy& c, const std::int32_t* labels) : PixelLabels(c, labels, c.channels) {}
  PixelLabels(const PixelCrossEntropy& c, const std::int32_t* labels, std::int64_t classes) : tile_(c), labels_(labels), classes_(classes) {}

  // Of one row of the tile.
  class Row {
   public:
    Row(const PixelCrossEntropy& c, const std::int32_t* labels, std::int64_t classes)
        : classes_(classes), ignored_(c.ignored), labels_(labels) {}
    // The class of a pixel, or ignoredPixel where it does not count; a wrong label is kept and does
    // not count.
    std::int32_t operator()(std::int64_t column) {
      const std::int32_t label = __atomic_load_n(labels_ + column, __ATOMIC_RELAXED);
      if (label == ignored_) return ignoredPixel;
      if (label >= 0 && label < classes_) return label;
      if (wrong_ == noLabel) wrong_ = label;
      return ignoredPixel;
    }
    std::int64_t wrong() const { return wrong_; }

   private:
    std::int64_t classes_, ignored_;
    const std::int32_t* labels_;
    std::int64_t wrong_ = noLabel;
  };

  static constexpr std::int64_t noLabel = std::numeric_limits<std::int64_t>::max();

  // Rows of all images are counted in one go.
  Row row(std::int64_t index) const {
    return {tile_, labels_ + rowStart(tile_, index / tile_.height, index % tile_.height), classes_};
  }

  // `wrong`: the least wrong label of all rows, or noLabel.
  void require(std::int64_t wrong) const {
    if (wrong == noLabel) return;
    throw Failure("label " + std::to_string(wrong) + " of a pixel is neither in 0 .. " + std::to_string(classes_ - 1) +
                  " nor the ignored " + std::to_string(tile_.ignored) + ": relabel it or give the model more classes");
  }

 private:
  const PixelCrossEntropy& tile_;
  const std::int32_t* labels_;
  std::int64_t classes_;
};

}  // namespace tilefold
