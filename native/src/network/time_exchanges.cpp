#include <chrono>

#include "../failure.hpp"
#include "network.hpp"

namespace tilefold {
namespace {

const auto never = [] { return false; };
constexpr std::int64_t mostExchangeBytes = std::int64_t{1} << 26, mostTimes = 10'000;

}  // namespace

std::vector<double> timeExchanges(Network& network, std::int64_t bytes, std::int64_t distance, std::int64_t times) {
  if (bytes < 1 || bytes > mostExchangeBytes || times < 1 || times > mostTimes || distance < 1 || distance >= network.size())
    throw Failure(std::to_string(times) + " exchanges of " + std::to_string(bytes) + " bytes with the rank " + std::to_string(distance) +
                  " further of " + std::to_string(network.size()) + " are none that can be timed");
  const auto size = static_cast<std::int64_t>(network.size());
  const std::int64_t rank = network.rank();
  const auto count = static_cast<std::size_t>(bytes);
  const std::vector<std::byte> sent(count, std::byte{1});
  std::vector<std::byte> received(count);
  std::vector<RankBuffers> parts(static_cast<std::size_t>(size));
  RankBuffers& next = parts[static_cast<std::size_t>((rank + distance) % size)];
  next.send = sent.data();
  next.sendBytes = count;
  RankBuffers& before = parts[static_cast<std::size_t>((rank + size - distance) % size)];
  before.receive = received.data();
  before.receiveBytes = count;
  // The first opens the connection, and lets all begin together.
  network.exchange(parts, never);
  std::vector<double> nanoseconds(static_cast<std::size_t>(times));
  for (double& each : nanoseconds) {
    const auto begun = std::chrono::steady_clock::now();
    network.exchange(parts, never);
    each = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begun).count();
  }
  return nanoseconds;
}

}  // namespace tilefold
