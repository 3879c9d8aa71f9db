// Work off JavaScript's thread, of which it holds a promise.
#pragma once
#include <napi.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "values.hpp"

namespace tilefold::addon {

// A promise of what the work finds. What it captures is made and destroyed on JavaScript's thread.
template <class Found>
class Promised : public Napi::AsyncWorker {
 public:
  using Work = std::function<Found()>;
  using ToValue = Napi::Value (*)(Napi::Env, const Found&);
  Promised(Napi::Env env, Work work, ToValue toValue)
      : Napi::AsyncWorker(env), deferred_(Napi::Promise::Deferred::New(env)), work_(std::move(work)), toValue_(toValue) {}

  // Begins it; an AsyncWorker deletes itself when it is done.
  static Napi::Promise begin(Napi::Env env, Work work, ToValue toValue) {
    auto promised = std::make_unique<Promised>(env, std::move(work), toValue);
    const Napi::Promise promise = promised->deferred_.Promise();
    promised.release()->Queue();
    return promise;
  }

 protected:
  void Execute() override {
    try {
      found_ = work_();
    } catch (const std::exception&) {
      failed_ = currentFailure();
    }
  }

  void OnOK() override {
    const Napi::Env env = Env();
    deferred_.Resolve(failed_ ? failure(env, failed_->code, failed_->message) : success(env, toValue_(env, found_)));
  }

 private:
  Napi::Promise::Deferred deferred_;
  Work work_;
  ToValue toValue_;
  Found found_;
  std::optional<Failed> failed_;
};

}  // namespace tilefold::addon
