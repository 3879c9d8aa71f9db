// Which of cuDNN's engines computes a graph, and how its knobs are turned: a number in plans and
// device files.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tilefold::cuda {

struct EngineConfiguration {
  std::int64_t engine = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> knobs;  // kind, choice

  // Field `algorithm` of a convolution that this computes: engineAlgorithms and above, the engine's
  // number before 32 bits that follow from the knobs.
  std::int64_t algorithm() const;
};

// Whether a convolution's field `algorithm` names a configuration.
bool isEngine(std::int64_t algorithm);

// As in 'engine 62 with knobs 3f2a1b00'.
std::string engineName(std::int64_t algorithm);

// Configurations that were named in this process by cuDNN's heuristics, by their algorithms. A plan
// takes one for convolutions of about the size of that for which it was named.
void remember(const EngineConfiguration& configuration);
std::optional<EngineConfiguration> remembered(std::int64_t algorithm);

}  // namespace tilefold::cuda
