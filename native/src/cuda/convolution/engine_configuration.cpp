#include "engine_configuration.hpp"

#include <array>
#include <cstdio>
#include <map>
#include <mutex>

#include "../../kernels/kernel_fields.hpp"

namespace tilefold::cuda {
namespace {

constexpr int knobBits = 32;

std::mutex mutex;

std::map<std::int64_t, EngineConfiguration>& all() {
  static std::map<std::int64_t, EngineConfiguration> known;
  return known;
}

}  // namespace

std::int64_t EngineConfiguration::algorithm() const {
  // FNV-1a: the same number in every build.
  std::uint32_t hash = 2166136261;
  const auto add = [&](std::int64_t number) {
    for (int byte = 0; byte < 8; ++byte) hash = (hash ^ (static_cast<std::uint64_t>(number) >> 8 * byte & 0xFF)) * 16777619;
  };
  for (const auto& [kind, choice] : knobs) {
    add(kind);
    add(choice);
  }
  return engineAlgorithms + (engine << knobBits) + static_cast<std::int64_t>(hash);
}

bool isEngine(std::int64_t algorithm) { return algorithm >= engineAlgorithms; }

std::string engineName(std::int64_t algorithm) {
  const auto number = static_cast<std::uint64_t>(algorithm - engineAlgorithms);
  std::array<char, 16> knobs{};
  std::snprintf(knobs.data(), knobs.size(), "%08x", static_cast<unsigned>(number & 0xFFFFFFFF));
  return "engine " + std::to_string(number >> knobBits) + " with knobs " + knobs.data();
}

void remember(const EngineConfiguration& configuration) {
  const std::lock_guard<std::mutex> lock(mutex);
  const auto [known, isNew] = all().emplace(configuration.algorithm(), configuration);
  if (!isNew && known->second.knobs != configuration.knobs)
    throw Failure("two configurations of cuDNN's " + engineName(configuration.algorithm()) + " have one number");
}

std::optional<EngineConfiguration> remembered(std::int64_t algorithm) {
  const std::lock_guard<std::mutex> lock(mutex);
  const auto found = all().find(algorithm);
  return found == all().end() ? std::nullopt : std::optional(found->second);
}

}  // namespace tilefold::cuda
