// openSession(options): { value: { run, prepare, interrupt, measuredPeakBytes,
// measuredHostPeakBytes, repeatedTiles, kernelMilliseconds, close } } or { error }; `timestamps`
// too, where it traces.
#pragma once
#include <napi.h>

#include "../interpreter/session.hpp"

namespace tilefold::addon {

DeviceChoice choiceOf(const Napi::Object& options);
Napi::Value openSession(const Napi::CallbackInfo& info);

}  // namespace tilefold::addon
