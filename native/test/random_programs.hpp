// Sound programs of random kernels, copies and events in several sections.
#pragma once
#include <cmath>

#include "buffers.hpp"
#include "program/program.hpp"

namespace tilefold::test {

struct RandomProgram {
  EncodedProgram encoded;
  Step step;  // with the images that it loads
};

RandomProgram randomProgram(Device& device, Random& random);

// What a damaged program may hold where a sound one holds something else.
constexpr double oddNumbers[] = {0, 1, -1, 2, 3, 4, 6, 7, 8, 64, 0.5, 1e6, 2147483648.0, 0x1p52, 0x1p53, 0x1p62, 1e300, INFINITY, NAN};

}  // namespace tilefold::test
