// Which launches wait for each other, and in which order they are enqueued.
#include "cuda/launching/small_launches.hpp"

#include <cstdio>
#include <string>

namespace tilefold::test {
namespace {

using cuda::SmallLaunch;

std::string enqueued;
std::int64_t memory[256];

// As 'a2': two launches of kernel a in one grid.
template <char kernel>
void note(const cuda::Context&, const std::vector<SmallLaunch>& launches) {
  enqueued += kernel + std::to_string(launches.size());
}

// Of eight bytes each.
template <char kernel>
SmallLaunch launch(std::int64_t reads, std::int64_t writes) {
  SmallLaunch one;
  one.enqueue = note<kernel>;
  one.touched = {{{memory + reads, 8}, {memory + writes, 8}, {}}};
  return one;
}

std::string enqueue(const std::vector<SmallLaunch>& launches) {
  enqueued.clear();
  const cuda::Context context;
  cuda::SmallLaunches waiting(context);
  for (const SmallLaunch& one : launches) waiting.add(one);
  waiting.enqueue();
  waiting.enqueue();
  return enqueued;
}

int differences(const std::vector<SmallLaunch>& launches, const std::string& wanted) {
  const std::string got = enqueue(launches);
  if (got == wanted) return 0;
  std::printf("small launches: %s, not %s\n", got.c_str(), wanted.c_str());
  return 1;
}

}  // namespace

int smallLaunches() {
  const auto a = launch<'a'>;
  const auto b = launch<'b'>;
  std::vector<SmallLaunch> many;
  for (std::int64_t i = 0; i < 130; ++i) many.push_back(a(1, 2 + i));
  for (std::size_t i = 0; i < many.size(); ++i) many[i].touched[0] = {};
  int failures = 0;
  // Each makes what the next one reads, at places of its own, or all at one.
  failures += differences({a(0, 1), b(1, 2), a(3, 4), b(4, 5), a(6, 7), b(7, 8)}, "a3b3");
  failures += differences({a(0, 1), b(1, 2), a(3, 1), b(1, 5)}, "a1b1a1b1");
  // What reads again what it wrote, and what is behind it.
  failures += differences({a(0, 1), a(1, 2), b(9, 3), a(4, 5)}, "a1a2b1");
  failures += differences({a(0, 1), b(1, 2), a(2, 3)}, "a1b1a1");
  failures += differences(many, "a128a2");
  return failures;
}

}  // namespace tilefold::test
