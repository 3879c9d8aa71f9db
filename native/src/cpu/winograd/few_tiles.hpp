// Correlations of so few tiles that one pass over the weights serves all: these are read as they
// are stored, and transformed a part at a time, which a cache holds until it is multiplied.
// Transformed beforehand they would be written to memory, four times as large, and read back.
#pragma once
#include "../operands/strides.hpp"
#include "correlation.hpp"

namespace tilefold::cpu::winograd {

// Whether it has: at most 96 tiles, of more than one chunk of channels, whose transformed weights
// take a megabyte or more.
template <int Width, int Largest>
bool hasFewTiles(const Correlation<Width, Largest>& c);

template <int Width, int Largest>
std::int64_t fewTilesScratchFloats(const Correlation<Width, Largest>& c, int threads);

// The operands' weights lie as `weights` says; `forward`: the result's channels are their outputs.
template <int Width, int Largest, class T>
void correlateFewTiles(const Correlation<Width, Largest>& c, const WeightStrides& weights, bool forward, int threads,
                       const CorrelationOperands<T>& operands);

}  // namespace tilefold::cpu::winograd
