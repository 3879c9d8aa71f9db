// The end of JavaScript's environment, for work that this end waits for: when a worker is
// terminated, Node waits for its threads' work before it tells anyone.
#pragma once
#include <napi.h>

#include <atomic>
#include <functional>
#include <memory>
#include <utility>

namespace tilefold::addon {

// Made and destroyed on JavaScript's thread.
class EndWatch {
 public:
  // `onEnd`, which any thread may call, is called once JavaScript no longer runs.
  EndWatch(Napi::Env env, std::function<void()> onEnd)
      : onEnd_(std::move(onEnd)),
        calls_(Napi::ThreadSafeFunction::New(env, Napi::Function::New(env, [](const Napi::CallbackInfo&) {}), "endWatch", 0, 1)) {}
  ~EndWatch() { calls_.Release(); }
  EndWatch(const EndWatch&) = delete;
  EndWatch& operator=(const EndWatch&) = delete;

  // Any thread, now and then: has JavaScript's thread look whether anything can be called there.
  void look() noexcept {
    // One that is busy looks later.
    if (isAsked_->exchange(true)) return;
    const auto call = [isAsked = isAsked_, onEnd = onEnd_](Napi::Env, Napi::Function nothing) {
      *isAsked = false;
      try {
        nothing.Call({});
      } catch (const Napi::Error&) {
        onEnd();
      }
    };
    if (calls_.NonBlockingCall(call) != napi_ok) onEnd_();
  }

 private:
  std::shared_ptr<std::atomic<bool>> isAsked_ = std::make_shared<std::atomic<bool>>(false);
  std::function<void()> onEnd_;
  Napi::ThreadSafeFunction calls_;
};

}  // namespace tilefold::addon
