#include "fault.hpp"

namespace tilefold::cuda {

std::string sentence(const Fault& fault) {
  if (fault.kind == static_cast<std::int32_t>(FaultKind::label))
    return "label " + std::to_string(fault.label) + " of row " + std::to_string(fault.row) + " is outside 0 .. " +
           std::to_string(fault.classes - 1) + ": relabel it or give the model more classes";
  if (fault.kind == static_cast<std::int32_t>(FaultKind::pixelLabel))
    return "label " + std::to_string(fault.label) + " of a pixel is neither in 0 .. " + std::to_string(fault.classes - 1) +
           " nor the ignored " + std::to_string(fault.ignored) + ": relabel it or give the model more classes";
  return "maxPoolBackward read indices that no maxPoolForward wrote: stage the program again";
}

}  // namespace tilefold::cuda
