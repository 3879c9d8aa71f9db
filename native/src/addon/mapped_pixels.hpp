// Pixels of a file: more than a buffer of JavaScript's can hold, and not in memory before they are
// read.
#pragma once
#include <napi.h>

#include "../files/mapped_file.hpp"

namespace tilefold::addon {

// mapPixels({ path, offset, bytes }): the part of the file for the `pixels` of an image, mapped
// until nothing refers to it any more.
Napi::Value mapPixels(const Napi::CallbackInfo& info);

// freePixels(pixels): gives the memory of a Uint8Array back now, since nothing tells JavaScript to
// collect what is large outside its heap. It has no elements from then on.
Napi::Value freePixels(const Napi::CallbackInfo& info);

// What mapPixels made; null where the value is something else.
const MappedFile* mappedPixelsOf(const Napi::Value& value);

}  // namespace tilefold::addon
