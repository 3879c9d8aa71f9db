// Max pooling by oneDNN where it has a compiled kernel, else by the reference loops; `winners` belongs to whichever it is.
#pragma once
#include "launch.hpp"
#include "onednn.hpp"

namespace tilefold::cpu {

std::size_t maxPoolWinnersBytes(const MaxPool& p);
Implementation compileMaxPool(KernelKind kind, const MaxPool& p);

}  // namespace tilefold::cpu
