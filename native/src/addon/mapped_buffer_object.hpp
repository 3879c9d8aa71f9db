// A buffer in a file, as a section's I/O buffer: larger than a buffer of JavaScript's can be.
#pragma once
#include <napi.h>

#include "../files/mapped_buffer.hpp"

namespace tilefold::addon {

// mapBuffer({ path, bytes }): { stepIo, part, leaveToFile, expectScattered }. `stepIo` is what a
// session takes; part({ offset, bytes }) an ArrayBuffer over some of it, of which no two may
// overlap; the others are those of MappedBuffer. It is mapped until nothing refers to any of them.
Napi::Value mapBuffer(const Napi::CallbackInfo& info);

// What mapBuffer made as `stepIo`; null where the value is something else.
const MappedBuffer* mappedBufferOf(const Napi::Value& value);

}  // namespace tilefold::addon
