// The addon's exports; each answers { value } or { error: { code, message } }.
#include <napi.h>

#include "../memory/available_memory.hpp"
#include "device_object.hpp"
#include "interrupt_watch.hpp"
#include "lock_object.hpp"
#include "mapped_buffer_object.hpp"
#include "mapped_pixels.hpp"
#include "network_object.hpp"
#include "session_object.hpp"
#include "slide_object.hpp"
#include "values.hpp"

namespace {

// { bytes, bound }, or null where the system does not say (available_memory.hpp).
Napi::Value availableMemoryValue(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return tilefold::addon::guarded(env, [&]() -> Napi::Value {
    const auto available = tilefold::availableMemory();
    if (!available) return env.Null();
    Napi::Object value = Napi::Object::New(env);
    value.Set("bytes", static_cast<double>(available->bytes));
    value.Set("bound", available->bound);
    return value;
  });
}

Napi::Object initialise(Napi::Env env, Napi::Object exports) {
  exports.Set("openNetwork", Napi::Function::New(env, tilefold::addon::openNetwork));
  exports.Set("localNetworks", Napi::Function::New(env, tilefold::addon::localNetworks));
  exports.Set("openSession", Napi::Function::New(env, tilefold::addon::openSession));
  exports.Set("openDevice", Napi::Function::New(env, tilefold::addon::openDevice));
  exports.Set("lockFile", Napi::Function::New(env, tilefold::addon::lockFile));
  exports.Set("unlockFile", Napi::Function::New(env, tilefold::addon::unlockFile));
  exports.Set("mapBuffer", Napi::Function::New(env, tilefold::addon::mapBuffer));
  exports.Set("mapPixels", Napi::Function::New(env, tilefold::addon::mapPixels));
  exports.Set("openSlide", Napi::Function::New(env, tilefold::addon::openSlide));
  exports.Set("freePixels", Napi::Function::New(env, tilefold::addon::freePixels));
  exports.Set("kernelTable", Napi::Function::New(env, tilefold::addon::kernelTableValue));
  exports.Set("layoutTable", Napi::Function::New(env, tilefold::addon::layoutTableValue));
  exports.Set("versions", Napi::Function::New(env, tilefold::addon::versionsValue));
  exports.Set("availableMemory", Napi::Function::New(env, availableMemoryValue));
  exports.Set("watchInterrupts", Napi::Function::New(env, tilefold::addon::watchInterrupts));
  return exports;
}

}  // namespace

NODE_API_MODULE(tilefold, initialise)
