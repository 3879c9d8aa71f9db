#include "network_object.hpp"

#include <cstring>
#include <optional>
#include <vector>

#include "../network/local_network.hpp"
#include "../network/mpi_network.hpp"
#include "values.hpp"

namespace tilefold::addon {
namespace {

// One gathering, off the main thread.
class Gathering : public Napi::AsyncWorker {
 public:
  Gathering(Napi::Env env, std::shared_ptr<Network> network, const Napi::Value& bytes)
      : Napi::AsyncWorker(env), deferred_(Napi::Promise::Deferred::New(env)), network_(std::move(network)) {
    if (!bytes.IsTypedArray() || bytes.As<Napi::TypedArray>().TypedArrayType() != napi_uint8_array)
      throw Failure("what is gathered is no Uint8Array");
    const auto array = bytes.As<Napi::Uint8Array>();
    own_.resize(array.ByteLength());
    if (!own_.empty()) std::memcpy(own_.data(), array.Data(), own_.size());
  }

  Napi::Promise promise() const { return deferred_.Promise(); }

 protected:
  void Execute() override {
    try {
      all_ = gather(*network_, own_);
    } catch (const std::exception& error) {
      failure_ = error.what();
    }
  }

  void OnOK() override {
    const Napi::Env env = Env();
    if (failure_) return deferred_.Resolve(failure(env, "device", *failure_));
    Napi::Array array = Napi::Array::New(env, all_.size());
    for (std::size_t rank = 0; rank < all_.size(); ++rank) {
      Napi::Uint8Array bytes = Napi::Uint8Array::New(env, all_[rank].size());
      if (!all_[rank].empty()) std::memcpy(bytes.Data(), all_[rank].data(), all_[rank].size());
      array.Set(static_cast<std::uint32_t>(rank), bytes);
    }
    deferred_.Resolve(success(env, array));
  }

 private:
  Napi::Promise::Deferred deferred_;
  std::shared_ptr<Network> network_;
  std::vector<std::byte> own_;
  std::vector<std::vector<std::byte>> all_;
  std::optional<std::string> failure_;
};

Napi::Object objectOf(Napi::Env env, const std::shared_ptr<Network>& network) {
  Napi::Object object = Napi::Object::New(env);
  object.Set("handle", Napi::External<std::shared_ptr<Network>>::New(env, new std::shared_ptr<Network>(network),
                                                                     [](Napi::Env, std::shared_ptr<Network>* held) { delete held; }));
  object.Set("rank", network->rank());
  object.Set("size", network->size());
  object.Set("gather", Napi::Function::New(env, [network](const Napi::CallbackInfo& call) {
               return guarded(call.Env(), [&]() -> Napi::Value {
                 auto gathering = std::make_unique<Gathering>(call.Env(), network, call[0]);
                 const Napi::Promise promise = gathering->promise();
                 gathering.release()->Queue();  // an AsyncWorker deletes itself when it is done
                 return promise;
               });
             }));
  object.Set("limitWaits", Napi::Function::New(env, [network](const Napi::CallbackInfo& call) {
               return guarded(call.Env(), [&]() -> Napi::Value {
                 network->limitWaits(call[0].ToNumber().Int64Value());
                 return call.Env().Undefined();
               });
             }));
  object.Set("leave", Napi::Function::New(env, [network](const Napi::CallbackInfo& call) {
               return guarded(call.Env(), [&]() -> Napi::Value {
                 network->leave(call[0].ToNumber().Int32Value());
                 return call.Env().Undefined();
               });
             }));
  return object;
}

MpiKind kindNamed(const std::string& name) {
  if (name == "open-mpi") return MpiKind::openMpi;
  if (name == "mpich") return MpiKind::mpich;
  throw Failure("there is no MPI '" + name + "': use open-mpi or mpich");
}

}  // namespace

Napi::Value openNetwork(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return guarded(env, [&]() -> Napi::Value {
    const Napi::Object options = addon::objectOf(info[0], "options");
    return objectOf(env, makeMpiNetwork(kindNamed(textOf(options, "kind")), textOf(options, "path")));
  });
}

Napi::Value localNetworks(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return guarded(env, [&]() -> Napi::Value {
    Napi::Array array = Napi::Array::New(env);
    for (const auto& network : makeLocalNetworks(info[0].ToNumber().Int32Value())) array.Set(array.Length(), objectOf(env, network));
    return array;
  });
}

std::shared_ptr<Network> networkOf(const Napi::Value& handle) {
  if (handle.IsUndefined()) return nullptr;
  if (!handle.IsExternal()) throw Failure("the network is no handle of one");
  return *handle.As<Napi::External<std::shared_ptr<Network>>>().Data();
}

}  // namespace tilefold::addon
