#include "slide_object.hpp"

#include <memory>
#include <optional>
#include <string>

#include "../files/slide.hpp"
#include "values.hpp"

namespace tilefold::addon {
namespace {

// One window, read off the main thread into memory of JavaScript's.
class Reading : public Napi::AsyncWorker {
 public:
  Reading(Napi::Env env, std::shared_ptr<Slide> slide, std::int32_t level, const ImageWindow& window)
      : Napi::AsyncWorker(env), deferred_(Napi::Promise::Deferred::New(env)), slide_(std::move(slide)), level_(level), window_(window) {
    Napi::Uint8Array pixels = Napi::Uint8Array::New(env, static_cast<std::size_t>(window.height * window.width * 3));
    data_ = pixels.Data();
    pixels_ = Napi::Persistent(pixels);
  }

  Napi::Promise promise() const { return deferred_.Promise(); }

 protected:
  void Execute() override {
    try {
      slide_->read(level_, window_, data_);
    } catch (const std::exception& error) {
      failure_ = error.what();
    }
  }

  void OnOK() override {
    const Napi::Env env = Env();
    deferred_.Resolve(failure_ ? failure(env, "device", *failure_).As<Napi::Value>() : success(env, pixels_.Value()).As<Napi::Value>());
  }

 private:
  Napi::Promise::Deferred deferred_;
  std::shared_ptr<Slide> slide_;
  std::int32_t level_;
  ImageWindow window_;
  Napi::Reference<Napi::Uint8Array> pixels_;
  std::uint8_t* data_ = nullptr;
  std::optional<std::string> failure_;
};

constexpr std::int64_t mostWindowPixels = std::int64_t{1} << 30;

Napi::Value read(const Napi::CallbackInfo& info, const std::shared_ptr<Slide>& slide) {
  const Napi::Env env = info.Env();
  return guarded(env, [&]() -> Napi::Value {
    const Napi::Object options = objectOf(info[0], "options");
    const auto count = [&](const char* name) { return static_cast<std::int64_t>(countOf(options, name)); };
    const ImageWindow window{count("top"), count("left"), count("height"), count("width")};
    if (checkedMultiply(window.height, window.width) > mostWindowPixels) throw Failure("a window of a slide is too large");
    auto reading = std::make_unique<Reading>(env, slide, static_cast<std::int32_t>(count("level")), window);
    const Napi::Promise promise = reading->promise();
    reading.release()->Queue();  // an AsyncWorker deletes itself when it is done
    return promise;
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
