#include "lock_object.hpp"

#include <memory>

#include "../files/file_lock.hpp"
#include "values.hpp"

namespace tilefold::addon {
namespace {

constexpr napi_type_tag tag = {0x2F4E8A6B90D15C37, 0xA1D07E5389BC642F};

using Held = std::unique_ptr<FileLock>;

}  // namespace

Napi::Value lockFile(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return guarded(env, [&]() -> Napi::Value {
    const Napi::Object options = objectOf(info[0], "options");
    FileLock::Taken taken = FileLock::take(textOf(options, "path"), textOf(options, "owner"));
    if (taken.answer == FileLock::Answer::held) return Napi::String::New(env, "held");
    if (taken.answer == FileLock::Answer::unsupported) return Napi::String::New(env, "unsupported");
    const Napi::External<Held> lock = externalOf(env, Held(std::move(taken.lock)));
    lock.TypeTag(&tag);
    return lock;
  });
}

Napi::Value unlockFile(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return guarded(env, [&]() -> Napi::Value {
    if (!info[0].IsExternal()) throw Failure("the addon was called with a lock that is none");
    const auto lock = info[0].As<Napi::External<Held>>();
    if (!lock.CheckTypeTag(&tag)) throw Failure("the addon was called with a lock that is none");
    lock.Data()->reset();
    return env.Undefined();
  });
}

}  // namespace tilefold::addon
