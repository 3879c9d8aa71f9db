#include "read_windows.hpp"

#include <new>
#include <string>

#include "values.hpp"

namespace tilefold::addon {
namespace {

void answer(const Napi::CallbackInfo& info, ImageWindows& windows) {
  const Napi::Value given = info[0];
  if (given.IsTypedArray() && given.As<Napi::TypedArray>().TypedArrayType() == napi_uint8_array) {
    const auto pixels = given.As<Napi::Uint8Array>();
    try {
      windows.give(pixels.Data(), pixels.ByteLength());
    } catch (const std::bad_alloc&) {
      windows.refuse("a window of an image finds no memory for its " + std::to_string(pixels.ByteLength()) + " bytes");
    }
  } else {
    windows.refuse(given.IsString() ? given.As<Napi::String>().Utf8Value() : "a window was answered with neither pixels nor a sentence");
  }
}

}  // namespace

bool isReadByWindows(const Napi::Value& pixels) {
  return pixels.IsObject() && !pixels.IsTypedArray() && !pixels.IsExternal() && pixels.As<Napi::Object>().Get("read").IsFunction();
}

ReadWindows::ReadWindows(Napi::Env env, const Napi::Object& pixels, std::int64_t pixelBytes) {
  // What asks outlives neither the function nor the windows: both end with the run.
  const auto ask = [this](const ImageWindow& window) {
    const auto call = [window, windows = std::weak_ptr<ImageWindows>(windows_)](Napi::Env from, Napi::Function read) {
      const auto number = [&](std::int64_t value) { return Napi::Number::New(from, static_cast<double>(value)); };
      const auto answered = Napi::Function::New(from, [windows](const Napi::CallbackInfo& info) {
        if (const std::shared_ptr<ImageWindows> open = windows.lock()) answer(info, *open);
      });
      try {
        read.Call({number(window.top), number(window.left), number(window.height), number(window.width), answered});
      } catch (const Napi::Error& error) {
        if (const std::shared_ptr<ImageWindows> open = windows.lock()) open->refuse(error.Message());
      }
    };
    if (read_.NonBlockingCall(call) != napi_ok) windows_->refuse("the images cannot be read any more: the process ends");
  };
  const Napi::Object tile = objectOf(pixels.Get("tile"), "tile");
  const ImageTileExtent extent{static_cast<std::int64_t>(countOf(tile, "height")), static_cast<std::int64_t>(countOf(tile, "width"))};
  windows_ = std::make_shared<ImageWindows>(pixelBytes, countOf(pixels, "windowBytes"), extent, ask);
  // The last: while it is not released the process does not end.
  read_ = Napi::ThreadSafeFunction::New(env, pixels.Get("read").As<Napi::Function>(), "readWindow", 0, 1);
}

ReadWindows::~ReadWindows() { read_.Release(); }

}  // namespace tilefold::addon
