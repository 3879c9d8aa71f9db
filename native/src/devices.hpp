// The devices that this build has, by name.
#pragma once
#include <memory>
#include <string>

#include "device.hpp"

namespace tilefold {

struct DeviceChoice {
  std::string name;  // "reference", "cpu" or "cuda"
  Precision precision = Precision::float32;
  std::int64_t threads = 1;
  bool tf32 = false;  // of cuda: products may be computed with 10 bits of mantissa
};

// Throws Failure for a name or precision that this build or machine has not.
std::unique_ptr<Device> makeDevice(const DeviceChoice& choice);

// Name, version and instruction set of the library behind the cpu device.
struct LibraryVersion {
  std::string name, version, instructionSet;
};
LibraryVersion cpuLibrary();

}  // namespace tilefold
