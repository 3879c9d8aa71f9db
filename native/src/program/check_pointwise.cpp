#include "../kernels/expression.hpp"
#include "kernel_checks.hpp"

namespace tilefold {
namespace {

void check(const Rectifier& r) {
  positive("count", r.count);
  notNegative("slope", r.slope);
}

void check(const Dropout& d) {
  check(static_cast<const Tile&>(d));
  between("rate", d.rate, 0, 1);
  notNegative("layerKey", d.layerKey);
  if (d.channels != d.fullChannels) throw Failure("dropout is tiled along channels, " + text(d.channels) + " of " + text(d.fullChannels));
  if (d.height > d.fullHeight || d.width > d.fullWidth) throw Failure("the tile is larger than its tensor");
}

void check(const Pointwise& p) {
  check(static_cast<const Tile&>(p));
  expressionSteps(p.expression);
}

void checkForward(const Pointwise& p) {
  check(p);
  if (readsLeaf(expressionSteps(p.expression), Operation::gradient)) throw Failure("the expression reads a gradient, and forward has none");
}

void check(const PointwiseSum& s) {
  check(static_cast<const Tile&>(s));
  if (s.rows < 0 || s.rows > 2) throw Failure("rows is none of 0 .. 2: " + text(s.rows));
  expressionSteps(s.expression);
}

}  // namespace

bool checkPointwise(const Kernel& kernel) {
  switch (kernel.kind) {
    case KernelKind::rectifierForward:
    case KernelKind::rectifierBackward:
    case KernelKind::addForward:
      check(decode<Rectifier>(kernel));
      return true;
    case KernelKind::dropout:
      check(decode<Dropout>(kernel));
      return true;
    case KernelKind::pointwiseForward:
      checkForward(decode<Pointwise>(kernel));
      return true;
    case KernelKind::pointwiseBackward:
      check(decode<Pointwise>(kernel));
      return true;
    case KernelKind::pointwiseSum:
      check(decode<PointwiseSum>(kernel));
      return true;
    default:
      return false;
  }
}

}  // namespace tilefold
