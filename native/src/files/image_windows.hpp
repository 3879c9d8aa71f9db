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

// Kernels take windows, one at a time; who reads the file is asked for each, and gives or refuses
// it from any thread.
class ImageWindows {
 public:
  using Pixels = std::vector<std::uint8_t>;
  // `ask` returns at once. `pixelBytes`: of all channels of a pixel. `mostBytes`: of a window
  // that is taken, unless one row is more.
  ImageWindows(std::int64_t pixelBytes, std::size_t mostBytes, std::function<void(const ImageWindow&)> ask);

  // Rows of that width which a window may have.
  std::int64_t mostRows(std::int64_t width) const;
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
  const std::function<void(const ImageWindow&)> ask_;
  std::mutex turn_, mutex_;
  std::condition_variable changed_;
  std::optional<Pixels> given_;
  std::optional<std::string> refused_;
  bool ended_ = false;
};

}  // namespace tilefold
