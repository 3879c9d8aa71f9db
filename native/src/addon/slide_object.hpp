// Slides that OpenSlide reads, for JavaScript.
#pragma once
#include <napi.h>

namespace tilefold::addon {

// openSlide({ path }): { vendor, micronsPerPixel (0: unknown), heights, widths, read }, where
// read({ level, top, left, height, width }) promises a Uint8Array of RGB.
Napi::Value openSlide(const Napi::CallbackInfo& info);

}  // namespace tilefold::addon
