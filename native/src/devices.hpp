// The devices that this build has, by name.
#pragma once
#include <memory>
#include <string>

#include "device.hpp"

namespace tilefold {

// "reference" or "cpu". Throws Failure for a name or precision that this build has not.
std::unique_ptr<Device> makeDevice(const std::string& name, Precision precision, int threads);

// Name, version and instruction set of the library behind the cpu device.
struct LibraryVersion {
  std::string name, version, instructionSet;
};
LibraryVersion cpuLibrary();

}  // namespace tilefold
