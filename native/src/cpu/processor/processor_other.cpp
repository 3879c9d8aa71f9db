#ifndef __x86_64__
#include "processor.hpp"

namespace tilefold::cpu {

const char* lackingInstructions() { return nullptr; }

// oneDNN names sets of x86-64 only.
std::string instructionSet() {
#ifdef __aarch64__
  return "neon";
#else
  return "any";
#endif
}

bool multipliesBf16() { return false; }

bool multipliesPairs() { return false; }

bool multipliesMatrices() { return false; }

std::int64_t machineBlock() { return 8; }

}  // namespace tilefold::cpu
#endif
