#include "network_object.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "../network/local_network.hpp"
#include "../network/mpi_network.hpp"
#include "promised.hpp"
#include "values.hpp"

namespace tilefold::addon {
namespace {

using Bytes = std::vector<std::byte>;

Bytes bytesOf(const Napi::Value& value) {
  if (!value.IsTypedArray() || value.As<Napi::TypedArray>().TypedArrayType() != napi_uint8_array)
    throw Failure("what is gathered is no Uint8Array");
  const auto array = value.As<Napi::Uint8Array>();
  Bytes bytes(array.ByteLength());
  if (!bytes.empty()) std::memcpy(bytes.data(), array.Data(), bytes.size());
  return bytes;
}

constexpr napi_type_tag tag = {0x6B1D93F05C2E4A78, 0x94E7A0D2368BF15C};

Napi::Value bytesOfRanks(Napi::Env env, const std::vector<Bytes>& all) {
  Napi::Array array = Napi::Array::New(env, all.size());
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    Napi::Uint8Array bytes = Napi::Uint8Array::New(env, all[rank].size());
    if (!all[rank].empty()) std::memcpy(bytes.Data(), all[rank].data(), all[rank].size());
    array.Set(static_cast<std::uint32_t>(rank), bytes);
  }
  return array;
}

Napi::Value doubles(Napi::Env env, const std::vector<double>& numbers) {
  Napi::Float64Array array = Napi::Float64Array::New(env, numbers.size());
  std::copy(numbers.begin(), numbers.end(), array.Data());
  return array;
}

Napi::Object objectOf(Napi::Env env, const std::shared_ptr<Network>& network) {
  Napi::Object object = Napi::Object::New(env);
  const auto handle = externalOf(env, network);
  handle.TypeTag(&tag);
  object.Set("handle", handle);
  object.Set("rank", network->rank());
  object.Set("size", network->size());
  object.Set("gather", Napi::Function::New(env, [network](const Napi::CallbackInfo& call) {
               return guarded(call.Env(), [&]() -> Napi::Value {
                 return Promised<std::vector<Bytes>>::begin(
                     call.Env(), [network, own = bytesOf(call[0])] { return gather(*network, own); }, bytesOfRanks);
               });
             }));
  object.Set("timeExchanges", Napi::Function::New(env, [network](const Napi::CallbackInfo& call) {
               return guarded(call.Env(), [&]() -> Napi::Value {
                 const Napi::Object options = addon::objectOf(call[0], "options");
                 const auto count = [&](const char* name) { return static_cast<std::int64_t>(countOf(options, name)); };
                 return Promised<std::vector<double>>::begin(
                     call.Env(),
                     [network, bytes = count("bytes"), distance = count("distance"), times = count("times")] {
                       return timeExchanges(*network, bytes, distance, times);
                     },
                     doubles);
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
  const auto network = handle.As<Napi::External<std::shared_ptr<Network>>>();
  if (!network.CheckTypeTag(&tag)) throw Failure("the network is no handle of one");
  return *network.Data();
}

}  // namespace tilefold::addon
