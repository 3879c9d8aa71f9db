// openNetwork(options): { value: { handle, rank, size, gather, timeExchanges, limitWaits, leave } }
// of the ranks that a launcher of MPI started; localNetworks(size): a list of such, of ranks in
// this process. See native/network/network.ts.
#pragma once
#include <napi.h>

#include <memory>

#include "../network/network.hpp"

namespace tilefold::addon {

Napi::Value openNetwork(const Napi::CallbackInfo& info);
Napi::Value localNetworks(const Napi::CallbackInfo& info);
// The network of a handle; nothing for undefined. Throws Failure for any other value.
std::shared_ptr<Network> networkOf(const Napi::Value& handle);

}  // namespace tilefold::addon
