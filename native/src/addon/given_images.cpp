#include "given_images.hpp"

#include <algorithm>

#include "mapped_pixels.hpp"
#include "values.hpp"

namespace tilefold::addon {
namespace {

std::optional<std::array<double, 12>> colourOf(const Napi::Object& object) {
  const Napi::Value value = object.Get("colour");
  if (value.IsUndefined()) return std::nullopt;
  if (!value.IsTypedArray() || value.As<Napi::TypedArray>().TypedArrayType() != napi_float32_array)
    throw Failure("colour is no Float32Array");
  const auto array = value.As<Napi::Float32Array>();
  std::array<double, 12> colour{};
  if (array.ElementLength() != colour.size())
    throw Failure("colour has " + std::to_string(array.ElementLength()) + " numbers instead of 12");
  std::copy(array.Data(), array.Data() + colour.size(), colour.begin());
  return colour;
}

struct Pixels {
  const std::uint8_t* data;
  std::size_t bytes;
};

Pixels pixelsOf(const Napi::Value& value) {
  if (const MappedFile* mapped = mappedPixelsOf(value)) return {mapped->data(), mapped->bytes()};
  if (!value.IsTypedArray() || value.As<Napi::TypedArray>().TypedArrayType() != napi_uint8_array)
    throw Failure("pixels is neither a Uint8Array nor mapped");
  const auto array = value.As<Napi::Uint8Array>();
  requireFixed(array.ArrayBuffer(), "pixels");
  return {array.Data(), array.ByteLength()};
}

ElementType elementTypeOf(const Napi::Object& image) {
  const Napi::Value value = image.Get("elementType");
  if (value.IsUndefined()) return ElementType::uint8;
  const std::string name = textOf(image, "elementType");
  if (name == "uint8") return ElementType::uint8;
  if (name == "uint16") return ElementType::uint16;
  if (name == "int16") return ElementType::int16;
  if (name == "float32") return ElementType::float32;
  throw Failure("there is no element type '" + name + "' of images: use uint8, uint16, int16 or float32");
}

// Without its pixels.
Image imageOf(const Napi::Object& object) {
  const auto count = [&](const char* name) { return static_cast<std::int64_t>(countOf(object, name)); };
  return {nullptr,
          count("height"),
          count("width"),
          count("channels"),
          count("cropTop"),
          count("cropLeft"),
          flagOf(object, "flipHorizontal"),
          flagOf(object, "flipVertical"),
          count("quarterTurns"),
          colourOf(object),
          nullptr,
          elementTypeOf(object)};
}

std::int64_t pixelBytesOf(const Image& image) { return checkedMultiply(image.channels, bytesOf(image.elementType)); }

std::int64_t allBytesOf(const Image& image) { return checkedMultiply(checkedMultiply(image.height, image.width), pixelBytesOf(image)); }

}  // namespace

void requireFixed(const Napi::Value& buffer, const char* what) {
  if (buffer.As<Napi::Object>().Get("resizable").ToBoolean())
    throw Failure(std::string(what) + " lies in a resizable buffer, which may shrink while it is read: copy it to one that is not");
}

GivenImages::GivenImages(Napi::Env env, const Napi::Object& given) {
  Napi::Array held = Napi::Array::New(env);
  for (const Napi::Object& object : objectsOf(given, "images")) {
    const Napi::Value pixels = object.Get("pixels");
    Image image = imageOf(object);
    static_cast<void>(allBytesOf(image));  // which overflows for none that is read by windows
    if (isReadByWindows(pixels)) {
      windows_.push_back(std::make_unique<ReadWindows>(env, pixels.As<Napi::Object>(), pixelBytesOf(image)));
      image.windows = windows_.back()->windows().get();
    }
    images.push_back(image);
    held.Set(held.Length(), pixels);
  }
  pixels_ = Napi::Persistent(Napi::Object(held));
}

void GivenImages::takePixels() {
  for (std::size_t i = 0; i < images.size(); ++i) {
    Image& image = images[i];
    if (image.windows != nullptr) continue;
    const Pixels pixels = pixelsOf(pixels_.Value().Get(static_cast<std::uint32_t>(i)));
    if (const std::int64_t bytes = allBytesOf(image); static_cast<std::uint64_t>(bytes) != pixels.bytes)
      throw Failure("an image of " + std::to_string(image.height) + "x" + std::to_string(image.width) + "x" + std::to_string(image.channels) +
                    " has " + std::to_string(pixels.bytes) + " bytes instead of " + std::to_string(bytes));
    image.pixels = pixels.data;
  }
}

std::vector<std::shared_ptr<ImageWindows>> GivenImages::windows() const {
  std::vector<std::shared_ptr<ImageWindows>> all;
  for (const auto& one : windows_) all.push_back(one->windows());
  return all;
}

}  // namespace tilefold::addon
