#include "kernel_checks.hpp"

namespace tilefold {
namespace {

void check(const Linear& l) {
  positive("batch", l.batch);
  positive("inFeatures", l.inFeatures);
  positive("outFeatures", l.outFeatures);
}

}  // namespace

bool checkLinear(const Kernel& kernel) {
  switch (kernel.kind) {
    case KernelKind::linearForward:
    case KernelKind::linearBackwardData:
    case KernelKind::linearBackwardWeights:
      check(decode<Linear>(kernel));
      return true;
    default:
      return false;
  }
}

}  // namespace tilefold
