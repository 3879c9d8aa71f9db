// The addon's exports; each answers { value } or { error: { code, message } }.
#include <napi.h>

#include "device_object.hpp"
#include "mapped_pixels.hpp"
#include "session_object.hpp"

namespace {

Napi::Object initialise(Napi::Env env, Napi::Object exports) {
  exports.Set("openSession", Napi::Function::New(env, tilefold::addon::openSession));
  exports.Set("openDevice", Napi::Function::New(env, tilefold::addon::openDevice));
  exports.Set("mapPixels", Napi::Function::New(env, tilefold::addon::mapPixels));
  exports.Set("kernelTable", Napi::Function::New(env, tilefold::addon::kernelTableValue));
  exports.Set("layoutTable", Napi::Function::New(env, tilefold::addon::layoutTableValue));
  exports.Set("versions", Napi::Function::New(env, tilefold::addon::versionsValue));
  return exports;
}

}  // namespace

NODE_API_MODULE(tilefold, initialise)
