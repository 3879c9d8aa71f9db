#include "kernel_checks.hpp"

namespace tilefold {
namespace {

void check(const Pool& p) {
  checkWindow(p);
  activationLayout("layout", p.layout);
}

void check(const AveragePool& p) {
  checkWindow(p, p.overhangBottom, p.overhangRight);
  if (p.dilationHeight != 1 || p.dilationWidth != 1) throw Failure("an average pool has no dilation");
  activationLayout("layout", p.layout);
}

// Whether a float64 counts the places of a tensor's plane.
void checkPlaces(const PlacedTile& t) {
  check(t);
  if (static_cast<double>(t.fullHeight) * static_cast<double>(t.fullWidth) > 0x1p52)
    throw Failure("a plane of " + text(t.fullHeight) + " x " + text(t.fullWidth) + " has more places than can be told apart");
}

}  // namespace

bool checkPooling(const Kernel& kernel) {
  switch (kernel.kind) {
    case KernelKind::maxPoolForward:
    case KernelKind::maxPoolBackward:
      check(decode<Pool>(kernel));
      return true;
    case KernelKind::averagePoolForward:
    case KernelKind::averagePoolBackward:
      check(decode<AveragePool>(kernel));
      return true;
    case KernelKind::globalAveragePoolForward:
    case KernelKind::globalAveragePoolBackward:
      check(decode<GlobalAveragePool>(kernel));
      return true;
    case KernelKind::globalMaxPoolForward:
    case KernelKind::globalMaxPoolBackward:
      checkPlaces(decode<PlacedTile>(kernel));
      return true;
    case KernelKind::mergeMaxima:
      check(decode<MergeParts>(kernel));
      return true;
    default:
      return false;
  }
}

}  // namespace tilefold
