// openDevice(options): { value: { scratchBytes, indicesBytes, activationLayout, weightLayouts,
// milliseconds, linkBytesPerSecond, algorithms, properties } } or { error }.
#pragma once
#include <napi.h>

namespace tilefold::addon {

Napi::Value openDevice(const Napi::CallbackInfo& info);

// [{ name, fields, operands: [{ name, use, optional, inPlace }] }] in the order of the kernels'
// codes.
Napi::Value kernelTableValue(const Napi::CallbackInfo& info);
// [{ name, channels, out, in, groups, positions }] in the order of the layouts' codes.
Napi::Value layoutTableValue(const Napi::CallbackInfo& info);
// { library, version, instructionSet, processors }.
Napi::Value versionsValue(const Napi::CallbackInfo& info);

}  // namespace tilefold::addon
