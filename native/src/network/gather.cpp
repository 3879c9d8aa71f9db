#include <cstdint>
#include <cstring>

#include "network.hpp"

namespace tilefold {
namespace {

const auto never = [] { return false; };

}  // namespace

std::vector<std::vector<std::byte>> gather(Network& network, const std::vector<std::byte>& own) {
  const auto size = static_cast<std::size_t>(network.size());
  const std::uint64_t length = own.size();
  std::vector<std::uint64_t> lengths(size);
  std::vector<RankBuffers> parts(size);
  for (std::size_t rank = 0; rank < size; ++rank)
    parts[rank] = {reinterpret_cast<const std::byte*>(&length), sizeof(length), reinterpret_cast<std::byte*>(&lengths[rank]), sizeof(length)};
  network.exchange(parts, never);
  std::vector<std::vector<std::byte>> all(size);
  for (std::size_t rank = 0; rank < size; ++rank) {
    all[rank].resize(lengths[rank]);
    parts[rank] = {own.data(), own.size(), all[rank].data(), all[rank].size()};
  }
  network.exchange(parts, never);
  return all;
}

}  // namespace tilefold
