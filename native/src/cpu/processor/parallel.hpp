// Static schedules only: for a given number of threads every sum is formed in the same order. What
// a thread of a team runs has that thread alone, whatever levels OpenMP allows: scratch is for it.
#pragma once
#include <omp.h>

#include <algorithm>
#include <cstdint>

namespace tilefold::cpu {

// body(index) for index 0 .. count - 1.
template <class Body>
void parallelFor(std::int64_t count, const Body& body) {
#pragma omp parallel for schedule(static) if (!omp_in_parallel())
  for (std::int64_t index = 0; index < count; ++index) body(index);
}

// body(begin, end) over ranges of about `grain` elements: small enough for a cache, large enough to
// hide the loop.
template <class Body>
void parallelRanges(std::int64_t count, std::int64_t grain, const Body& body) {
  const std::int64_t ranges = (count + grain - 1) / grain;
  if (ranges <= 1) return body(0, count);
#pragma omp parallel for schedule(static) if (!omp_in_parallel())
  for (std::int64_t range = 0; range < ranges; ++range) body(range * grain, std::min(count, (range + 1) * grain));
}

// body(member, members) on every thread at once.
template <class Body>
void parallelTeam(const Body& body) {
#pragma omp parallel if (!omp_in_parallel())
  body(static_cast<std::int64_t>(omp_get_thread_num()), static_cast<std::int64_t>(omp_get_num_threads()));
}

// Within parallelTeam: waits for all members.
inline void teamBarrier() {
#pragma omp barrier
}

// Of which threads have enough to share, however many there are.
constexpr std::int64_t wantedTasks = 16;

// Into how many parts, at most `most`, each of so many sums is cut for that.
inline std::int64_t partsOfSums(std::int64_t sums, std::int64_t most) {
  std::int64_t parts = 1;
  while (2 * parts * sums <= wantedTasks && 2 * parts <= most) parts *= 2;
  return parts;
}

// What a member takes of `count` pieces of work: begin .. end - 1.
struct Share {
  std::int64_t begin, end;
};
inline Share shareOf(std::int64_t count, std::int64_t member, std::int64_t members) {
  return {count * member / members, count * (member + 1) / members};
}

}  // namespace tilefold::cpu
