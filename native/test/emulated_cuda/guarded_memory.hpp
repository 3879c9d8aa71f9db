// Memory with neighbours that nobody may touch: whole pages that fault, and between them and the
// memory bytes that are looked at in the end.
#pragma once
#include <cstddef>

namespace tilefold::emulated {

// At a multiple of 256 bytes, as cudaMalloc's, and every byte of it is 0xFF. Null where there is
// none.
void* takeGuarded(std::size_t bytes);
// Ends the process where a byte beside it was written.
void giveBackGuarded(void* memory);

}  // namespace tilefold::emulated
