// openSession(options): { value: { run, interrupt, measuredPeakBytes, measuredHostPeakBytes,
// repeatedTiles, kernelMilliseconds, close } } or { error }.
#pragma once
#include <napi.h>

#include "../interpreter/session.hpp"

namespace tilefold::addon {

DeviceChoice choiceOf(const Napi::Object& options);
Napi::Value openSession(const Napi::CallbackInfo& info);

}  // namespace tilefold::addon
