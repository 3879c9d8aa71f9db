// Slides that OpenSlide reads, which is opened when it is first asked for.
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "image_windows.hpp"

namespace tilefold {

struct SlideLevel {
  std::int64_t height = 0, width = 0;
  // How many times as small as the finest level, as OpenSlide counts places.
  double downsample = 1;
};

class SlideHandle;  // slide.cpp

// Reads from any thread. Throws Failure where the library is missing, the file is no slide that it
// knows, or a window cannot be read.
class Slide {
 public:
  explicit Slide(std::string path);

  const std::vector<SlideLevel>& levels() const { return levels_; }
  const std::string& vendor() const { return vendor_; }
  // Micrometres a pixel of the finest level; none where the file does not say it.
  std::optional<double> micronsPerPixel() const { return micronsPerPixel_; }

  // Red, green and blue of a window of a level, densely; what holds nothing is white.
  void read(std::int32_t level, const ImageWindow& window, std::uint8_t* rgb);

 private:
  std::shared_ptr<SlideHandle> handle();

  std::string path_, vendor_;
  std::vector<SlideLevel> levels_;
  std::optional<double> micronsPerPixel_;
  std::mutex mutex_;
  std::shared_ptr<SlideHandle> handle_;
};

}  // namespace tilefold
