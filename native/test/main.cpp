// Decoder, interpreter and devices without Node, for the sanitizers.
#include <omp.h>

#include "devices.hpp"
#include "tests.hpp"

int main() {
  using namespace tilefold;
  omp_set_num_threads(2);
  int failures = test::checkArena();
  for (const char* name : {"reference", "cpu"}) {
    const std::unique_ptr<Device> device = makeDevice(name, Precision::float32, 2);
    failures += test::compareDevice(name, *device, 40);
    failures += test::fuzzPrograms(name, *device, 60);
  }
  return failures == 0 ? 0 : 1;
}
