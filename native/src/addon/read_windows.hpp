// Windows of an image that JavaScript reads while a section runs on another thread.
#pragma once
#include <napi.h>

#include <memory>

#include "../files/image_windows.hpp"

namespace tilefold::addon {

// Whether the `pixels` of an image are { windowBytes, tile, read }.
bool isReadByWindows(const Napi::Value& pixels);

// Calls read(top, left, height, width, answer), and takes the Uint8Array or the sentence that
// `answer` is called with. Made and destroyed on JavaScript's thread.
class ReadWindows {
 public:
  ReadWindows(Napi::Env env, const Napi::Object& pixels, std::int64_t pixelBytes);
  ~ReadWindows();
  ReadWindows(const ReadWindows&) = delete;
  ReadWindows& operator=(const ReadWindows&) = delete;

  const std::shared_ptr<ImageWindows>& windows() const { return windows_; }

 private:
  Napi::ThreadSafeFunction read_;
  std::shared_ptr<ImageWindows> windows_;
};

}  // namespace tilefold::addon
