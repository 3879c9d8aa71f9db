// Copies within the host's memory that a GPU waits for.
#pragma once
#include <cstddef>

namespace tilefold::cuda {

// Threads that share such a copy, however many the device's loops have.
int copyThreads();

// Any count; the labels of pixels are as large as images.
void copyOnHost(std::byte* to, const std::byte* from, std::size_t bytes);

}  // namespace tilefold::cuda
