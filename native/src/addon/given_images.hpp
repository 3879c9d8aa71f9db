// The images that JavaScript gives a run, or has prepared for one.
#pragma once
#include <memory>
#include <vector>

#include "../device.hpp"
#include "read_windows.hpp"

namespace tilefold::addon {

// Throws Failure for a buffer that may shrink while it is read.
void requireFixed(const Napi::Value& buffer, const char* what);

// `images` of an object, read once: what the caller puts in their place later is of no interest.
// Holds on to their pixels. Made and destroyed on JavaScript's thread. Throws Failure.
class GivenImages {
 public:
  GivenImages(Napi::Env env, const Napi::Object& given);
  // After everything else of JavaScript's is read, whose getters may free pixels. Throws Failure.
  void takePixels();

  std::vector<Image> images;
  // Of those that are read by windows.
  std::vector<std::shared_ptr<ImageWindows>> windows() const;

 private:
  std::vector<std::unique_ptr<ReadWindows>> windows_;
  Napi::ObjectReference pixels_;
};

}  // namespace tilefold::addon
