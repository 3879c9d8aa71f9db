#include "slide_object.hpp"

#include <memory>
#include <string>

#include "../files/slide.hpp"
#include "promised.hpp"
#include "values.hpp"

namespace tilefold::addon {
namespace {

// Memory of JavaScript's.
using Pixels = Napi::Reference<Napi::Uint8Array>;

constexpr std::int64_t mostWindowPixels = std::int64_t{1} << 30;

Napi::Value read(const Napi::CallbackInfo& info, const std::shared_ptr<Slide>& slide) {
  const Napi::Env env = info.Env();
  return guarded(env, [&]() -> Napi::Value {
    const Napi::Object options = objectOf(info[0], "options");
    const auto count = [&](const char* name) { return static_cast<std::int64_t>(countOf(options, name)); };
    const ImageWindow window{count("top"), count("left"), count("height"), count("width")};
    if (checkedMultiply(window.height, window.width) > mostWindowPixels) throw Failure("a window of a slide is too large");
    const auto level = static_cast<std::int32_t>(count("level"));
    Napi::Uint8Array array = Napi::Uint8Array::New(env, static_cast<std::size_t>(window.height * window.width * 3));
    const auto pixels = std::make_shared<Pixels>(Napi::Persistent(array));
    const auto work = [slide, level, window, pixels, data = array.Data()] {
      slide->read(level, window, data);
      return pixels;
    };
    return Promised<std::shared_ptr<Pixels>>::begin(
        env, work, [](Napi::Env, const std::shared_ptr<Pixels>& found) -> Napi::Value { return found->Value(); });
  });
}

}  // namespace

Napi::Value openSlide(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return guarded(env, [&]() -> Napi::Value {
    const auto slide = std::make_shared<Slide>(textOf(objectOf(info[0], "options"), "path"));
    Napi::Object object = Napi::Object::New(env);
    object.Set("vendor", slide->vendor());
    object.Set("micronsPerPixel", slide->micronsPerPixel().value_or(0));
    Napi::Array heights = Napi::Array::New(env), widths = Napi::Array::New(env);
    for (const SlideLevel& level : slide->levels()) {
      heights.Set(heights.Length(), static_cast<double>(level.height));
      widths.Set(widths.Length(), static_cast<double>(level.width));
    }
    object.Set("heights", heights);
    object.Set("widths", widths);
    object.Set("read", Napi::Function::New(env, [slide](const Napi::CallbackInfo& call) { return read(call, slide); }));
    return object;
  });
}

}  // namespace tilefold::addon
