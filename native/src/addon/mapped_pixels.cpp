#include "mapped_pixels.hpp"

#include <memory>

#include "values.hpp"

namespace tilefold::addon {
namespace {

constexpr napi_type_tag tag = {0x6C7C9D3E51A84F02, 0x9B0E7D6A34C2F815};

}  // namespace

Napi::Value mapPixels(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return guarded(env, [&]() -> Napi::Value {
    const Napi::Object options = objectOf(info[0], "options");
    auto file = std::make_unique<MappedFile>(textOf(options, "path"), countOf(options, "offset"), countOf(options, "bytes"));
    const auto release = [](Napi::Env from, MappedFile* mapped) {
      Napi::MemoryManagement::AdjustExternalMemory(from, -static_cast<std::int64_t>(mapped->bytes()));
      std::unique_ptr<MappedFile>{mapped};
    };
    auto pixels = Napi::External<MappedFile>::New(env, file.get(), release);
    // What was dropped before is found when JavaScript knows how much hangs on a small object.
    Napi::MemoryManagement::AdjustExternalMemory(env, static_cast<std::int64_t>(file.release()->bytes()));
    pixels.TypeTag(&tag);
    return pixels;
  });
}

Napi::Value freePixels(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return guarded(env, [&]() -> Napi::Value {
    if (!info[0].IsTypedArray()) throw Failure("pixels is no Uint8Array");
    Napi::ArrayBuffer buffer = info[0].As<Napi::TypedArray>().ArrayBuffer();
    if (!buffer.IsDetached()) buffer.Detach();
    return Napi::Boolean::New(env, true);
  });
}

const MappedFile* mappedPixelsOf(const Napi::Value& value) {
  if (!value.IsExternal()) return nullptr;
  const auto pixels = value.As<Napi::External<MappedFile>>();
  return pixels.CheckTypeTag(&tag) ? pixels.Data() : nullptr;
}

}  // namespace tilefold::addon
