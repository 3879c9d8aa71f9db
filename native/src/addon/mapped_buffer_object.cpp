#include "mapped_buffer_object.hpp"

#include <cstddef>
#include <memory>

#include "values.hpp"

namespace tilefold::addon {
namespace {

constexpr napi_type_tag tag = {0x2D91B7A46E0C4F5B, 0xA1F36C8855D07E29};

using Held = std::shared_ptr<MappedBuffer>;

Napi::Value partOf(const Napi::CallbackInfo& info, const Held& mapped) {
  const Napi::Object options = objectOf(info[0], "options");
  const std::size_t offset = countOf(options, "offset"), bytes = countOf(options, "bytes");
  if (offset > mapped->bytes() || bytes > mapped->bytes() - offset) throw Failure("a part of a buffer lies beyond its end");
  Held* const held = std::make_unique<Held>(mapped).release();
  // It is released too where no ArrayBuffer comes of it.
  return Napi::ArrayBuffer::New(
      info.Env(), static_cast<std::byte*>(mapped->data()) + offset, bytes, [](Napi::Env, void*, Held* ended) { std::unique_ptr<Held>{ended}; },
      held);
}

}  // namespace

Napi::Value mapBuffer(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return guarded(env, [&]() -> Napi::Value {
    const Napi::Object options = objectOf(info[0], "options");
    const auto mapped = std::make_shared<MappedBuffer>(textOf(options, "path"), countOf(options, "bytes"));
    const Napi::External<Held> stepIo = externalOf(env, Held(mapped));
    stepIo.TypeTag(&tag);
    Napi::Object object = Napi::Object::New(env);
    object.Set("stepIo", stepIo);
    object.Set("part", Napi::Function::New(env, [mapped](const Napi::CallbackInfo& call) {
                 return guarded(call.Env(), [&] { return partOf(call, mapped); });
               }));
    object.Set("leaveToFile", Napi::Function::New(env, [mapped](const Napi::CallbackInfo& call) {
                 return guarded(call.Env(), [&]() -> Napi::Value {
                   mapped->leaveToFile();
                   return Napi::Boolean::New(call.Env(), true);
                 });
               }));
    object.Set("expectScattered", Napi::Function::New(env, [mapped](const Napi::CallbackInfo& call) {
                 return guarded(call.Env(), [&]() -> Napi::Value {
                   if (!call[0].IsBoolean()) throw Failure("whether it is scattered is no boolean");
                   mapped->expectScattered(call[0].As<Napi::Boolean>());
                   return Napi::Boolean::New(call.Env(), true);
                 });
               }));
    return object;
  });
}

const MappedBuffer* mappedBufferOf(const Napi::Value& value) {
  if (!value.IsExternal()) return nullptr;
  const auto stepIo = value.As<Napi::External<Held>>();
  return stepIo.CheckTypeTag(&tag) ? stepIo.Data()->get() : nullptr;
}

}  // namespace tilefold::addon
