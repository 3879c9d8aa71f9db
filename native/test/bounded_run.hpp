// A program that may be damaged: decoded, and run where it is small, with everything around its
// memory watched.
#pragma once
#include "interpreter/interpreter.hpp"

namespace tilefold::test {

// Whether the decoder let it pass. Throws std::logic_error when a section wrote where it may not.
bool runBounded(const EncodedProgram& encoded, Device& device, const StepParameters& step);

}  // namespace tilefold::test
