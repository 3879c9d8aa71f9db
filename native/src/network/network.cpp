#include "network.hpp"

#include <algorithm>

#include "../failure.hpp"

namespace tilefold {
namespace {

// What the other ranks leave the first one to say why all end.
constexpr std::chrono::seconds grace{5};

// Any limit in milliseconds compares with it: in nanoseconds large ones would overflow.
std::chrono::milliseconds passedSince(std::chrono::steady_clock::time_point begun) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begun);
}

std::string secondsText(std::chrono::milliseconds most) {
  const std::int64_t seconds = (most.count() + 999) / 1000;
  return std::to_string(seconds) + (seconds == 1 ? " second" : " seconds");
}

}  // namespace

void Network::refuseLate(std::chrono::steady_clock::time_point begun, const std::function<std::vector<int>()>& missing) const {
  const std::chrono::milliseconds most{mostMilliseconds_.load()};
  const std::chrono::milliseconds waited = passedSince(begun);
  if (most.count() == 0 || waited <= most) return;
  const std::vector<int> ranks = missing();
  int first = 0;
  while (std::find(ranks.begin(), ranks.end(), first) != ranks.end()) ++first;
  if (ranks.empty() || (first != rank() && waited - grace <= most)) return;
  std::string names;
  for (const int rank : ranks) names += (names.empty() ? "rank " : " and rank ") + std::to_string(rank);
  throw Failure(names + (ranks.size() == 1 ? " hangs" : " hang") + ": the others have waited for more than " + secondsText(most));
}

std::optional<std::string> Network::lateness(std::chrono::steady_clock::time_point begun) const {
  const std::chrono::milliseconds most{mostMilliseconds_.load()};
  if (most.count() == 0 || passedSince(begun) <= most) return std::nullopt;
  return secondsText(most);
}

}  // namespace tilefold
