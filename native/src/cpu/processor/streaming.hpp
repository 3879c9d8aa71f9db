// Results that no cache will hold: written past the caches, which otherwise read first what is
// overwritten.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "parallel.hpp"

namespace tilefold::cpu {

// Bytes that a launch touches, as many as the last cache of most processors holds.
constexpr std::int64_t leastStreamed = std::int64_t{32} << 20;

// Copies what lies in a cache to memory, before a streamFence.
inline void stream(const void* source, void* destination, std::size_t bytes) {
#ifdef __SSE2__
  if (bytes % sizeof(__m128i) == 0 && reinterpret_cast<std::uintptr_t>(destination) % alignof(__m128i) == 0) {
    const auto* from = static_cast<const __m128i*>(source);
    auto* to = static_cast<__m128i*>(destination);
    for (std::size_t i = 0; i < bytes / sizeof(__m128i); ++i) _mm_stream_si128(to + i, _mm_loadu_si128(from + i));
    return;
  }
#endif
  std::memcpy(destination, source, bytes);
}

// What a thread streamed before it, all threads see after the next barrier.
inline void streamFence() {
#ifdef __SSE2__
  _mm_sfence();
#endif
}

// body(job) for job 0 .. count - 1; what it streams is in memory for all threads at the end.
template <class Body>
void parallelStreams(std::int64_t count, const Body& body) {
  parallelTeam([&](std::int64_t member, std::int64_t members) {
    const Share jobs = shareOf(count, member, members);
    for (std::int64_t job = jobs.begin; job < jobs.end; ++job) body(job);
    streamFence();
  });
}

}  // namespace tilefold::cpu
