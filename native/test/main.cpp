// Decoder, interpreter and devices without Node, for the sanitizers: tilefold_test [factor], which runs that many times the cases.
#include <omp.h>

#include <cstdlib>

#include "devices.hpp"
#include "tests.hpp"

int main(int count, char** arguments) {
  using namespace tilefold;
  omp_set_num_threads(2);
  const int factor = count > 1 ? std::atoi(arguments[1]) : 1;
  int failures = test::checkArena();
  for (const char* name : {"reference", "cpu"}) {
    const std::unique_ptr<Device> device = makeDevice(name, Precision::float32, 2);
    failures += test::checkHostileKernels(name, *device);
    failures += test::compareDevice(name, *device, 40 * factor);
    failures += test::fuzzPrograms(name, *device, 110 * factor);
  }
  return failures == 0 ? 0 : 1;
}
