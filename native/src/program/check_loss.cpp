#include "../kernels/expression.hpp"
#include "kernel_checks.hpp"

namespace tilefold {
namespace {

void check(const CrossEntropy& c) {
  positive("batch", c.batch);
  positive("classes", c.classes);
  if (c.fullBatch < c.batch) throw Failure("fullBatch " + text(c.fullBatch) + " is less than the tile's batch " + text(c.batch));
}

void check(const SquaredError& s) {
  check(static_cast<const StridedTile&>(s));
  positive("count", s.count);
}

void check(const PixelCrossEntropy& c) {
  check(static_cast<const PlacedTile&>(c));
  between("ignored", static_cast<double>(c.ignored), -0x1p31, 0x1p31);
}

void checkIndex(double alpha, double beta, double smooth, double scale) {
  notNegative("alpha", alpha);
  notNegative("beta", beta);
  notNegative("smooth", smooth);
  notNegative("scale", scale);
}

void check(const ClassLoss& c) {
  check(static_cast<const PixelCrossEntropy&>(c));
  expressionSteps(c.expression);
}

void check(const ClassLossBackward& c) {
  check(static_cast<const PixelCrossEntropy&>(c));
  checkIndex(c.alpha, c.beta, c.smooth, c.scale);
  expressionSteps(c.expression);
}

void check(const OverlapLoss& o) {
  positive("images", o.images);
  positive("channels", o.channels);
  checkIndex(o.alpha, o.beta, o.smooth, o.scale);
}

void check(const ValueLoss& v) {
  check(static_cast<const StridedTile&>(v));
  expressionSteps(v.expression);
}

void checkClasses(const PlacedTile& t) {
  check(t);
  if (t.channels > 256) throw Failure("a byte tells 256 classes apart, not " + text(t.channels));
}

}  // namespace

bool checkLoss(const Kernel& kernel) {
  switch (kernel.kind) {
    case KernelKind::softmaxCrossEntropyForward:
    case KernelKind::softmaxCrossEntropyBackward:
      check(decode<CrossEntropy>(kernel));
      return true;
    case KernelKind::meanSquaredErrorForward:
    case KernelKind::meanSquaredErrorBackward:
      check(decode<SquaredError>(kernel));
      return true;
    case KernelKind::pixelCrossEntropyForward:
    case KernelKind::pixelCrossEntropyBackward:
      check(decode<PixelCrossEntropy>(kernel));
      return true;
    case KernelKind::argmaxChannels:
      checkClasses(decode<PlacedTile>(kernel));
      return true;
    case KernelKind::classLossForward:
      check(decode<ClassLoss>(kernel));
      return true;
    case KernelKind::classLossBackward:
      check(decode<ClassLossBackward>(kernel));
      return true;
    case KernelKind::sumOverlaps:
      check(decode<Probabilities>(kernel));
      return true;
    case KernelKind::overlapLoss:
      check(decode<OverlapLoss>(kernel));
      return true;
    case KernelKind::valueLossForward:
    case KernelKind::valueLossBackward:
      check(decode<ValueLoss>(kernel));
      return true;
    default:
      return false;
  }
}

}  // namespace tilefold
