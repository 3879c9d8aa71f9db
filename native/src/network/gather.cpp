#include <cstdint>
#include <cstring>

#include "network.hpp"

namespace tilefold {

std::vector<std::vector<std::byte>> gather(Network& network, const std::vector<std::byte>& own) {
  return *gatherUnless(network, own, [] { return false; });
}

std::optional<std::vector<std::vector<std::byte>>> gatherUnless(Network& network, const std::vector<std::byte>& own,
                                                                const std::function<bool()>& ended) {
  const auto size = static_cast<std::size_t>(network.size());
  const std::uint64_t length = own.size();
  std::vector<std::uint64_t> lengths(size);
  std::vector<RankBuffers> parts(size);
  for (std::size_t rank = 0; rank < size; ++rank)
    parts[rank] = {reinterpret_cast<const std::byte*>(&length), sizeof(length), reinterpret_cast<std::byte*>(&lengths[rank]), sizeof(length)};
  if (!network.exchange(parts, ended)) return std::nullopt;
  std::vector<std::vector<std::byte>> all(size);
  for (std::size_t rank = 0; rank < size; ++rank) {
    all[rank].resize(lengths[rank]);
    parts[rank] = {own.data(), own.size(), all[rank].data(), all[rank].size()};
  }
  if (!network.exchange(parts, ended)) return std::nullopt;
  return all;
}

}  // namespace tilefold
