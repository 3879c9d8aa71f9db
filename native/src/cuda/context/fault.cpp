#include "fault.hpp"

namespace tilefold::cuda {

std::string sentence(const Fault& fault) {
  if (fault.kind == static_cast<std::int32_t>(FaultKind::label))
    return "label " + std::to_string(fault.label) + " of row " + std::to_string(fault.row) + " is outside 0 .. " +
           std::to_string(fault.classes - 1) + ": relabel it or give the model more classes";
  return "label " + std::to_string(fault.label) + " of a pixel is neither in 0 .. " + std::to_string(fault.classes - 1) +
         " nor the ignored " + std::to_string(fault.ignored) + ": relabel it or give the model more classes";
}

}  // namespace tilefold::cuda
