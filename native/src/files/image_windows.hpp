// Windows of an image that are read from its file while a section runs.
#pragma once
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace tilefold {

// Of an image, in pixels.
struct ImageWindow {
  std::int64_t top = 0, left = 0, height = 0, width = 0;
};

// What of a file is decoded at a time, in pixels; a file without tiles has those of 1x1.
struct ImageTileExtent {
  std::int64_t height = 1, width = 1;
};

// Kernels take windows, one at a time; who reads the file is asked for each, and gives or refuses
// it from any thread.
class ImageWindows {
 public:
  using Pixels = std::vector<std::uint8_t>;
  // `ask` returns at once. `pixelBytes`: of all channels of a pixel. `mostBytes`: of a window
  // that is taken, unless one pixel is more.
  ImageWindows(std::int64_t pixelBytes, std::size_t mostBytes, ImageTileExtent tile, std::function<void(const ImageWindow&)> ask);

  // The windows that a part of the image is taken by, from the top and the left: cut where tiles of
  // the file end, so that each is decoded once, unless one of them is more than a window.
  std::vector<ImageWindow> split(const ImageWindow& part) const;
  // Waits for the window's pixels, which lie densely; none where the run ended first. Throws
  // Failure where they are refused.
  std::optional<Pixels> take(const ImageWindow& window);
  void give(const std::uint8_t* pixels, std::size_t bytes);
  void refuse(const std::string& sentence);
  // Nobody waits from here on.
  void end();

 private:
  const std::int64_t pixelBytes_;
  const std::size_t mostBytes_;
  const ImageTileExtent tile_;
  const std::function<void(const ImageWindow&)> ask_;
  std::mutex turn_, mutex_;
  std::condition_variable changed_;
  std::optional<Pixels> given_;
  std::optional<std::string> refused_;
  bool ended_ = false;
};

}  // namespace tilefold
