#include "host_copy.hpp"

#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace tilefold::cuda {
namespace {

constexpr std::size_t chunkBytes = std::size_t{1} << 18;  // worth waking a thread for

}  // namespace

int copyThreads() { return std::min(8, omp_get_num_procs()); }

void copyOnHost(std::byte* to, const std::byte* from, std::size_t bytes) {
  const auto chunks = static_cast<std::int64_t>((bytes + chunkBytes - 1) / chunkBytes);
  const int threads = static_cast<int>(std::min<std::int64_t>(copyThreads(), chunks));
#pragma omp parallel for schedule(static) num_threads(std::max(1, threads))
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
    const std::size_t first = static_cast<std::size_t>(chunk) * chunkBytes;
    std::memcpy(to + first, from + first, std::min(chunkBytes, bytes - first));
  }
}

}  // namespace tilefold::cuda
