#include <algorithm>

#include "kernel_checks.hpp"

namespace tilefold {
namespace {

void check(const Resampled& r) {
  positive("batch", r.batch);
  positive("channels", r.channels);
  activationLayout("layout", r.layout);
  checkTileExtent("inHeight", r.inHeight, r.fullInHeight);
  checkTileExtent("inWidth", r.inWidth, r.fullInWidth);
  checkTileExtent("outHeight", r.outHeight, r.fullOutHeight);
  checkTileExtent("outWidth", r.outWidth, r.fullOutWidth);
}

void check(const Resize& r) {
  check(static_cast<const Resampled&>(r));
  if (r.alignCorners && !r.bilinear) throw Failure("alignCorners is of bilinear resizing only");
}

void check(const Pad& p) {
  check(static_cast<const Resampled&>(p));
  if (p.mode < 0 || p.mode > 2) throw Failure("mode is none of 0 .. 2: " + text(p.mode));
  const auto side = [&](const char* name, std::int64_t before, std::int64_t in, std::int64_t out) {
    notNegative(name, before);
    if (before > out - in) throw Failure(std::string(name) + " is " + text(before) + ", more than is added to " + text(in));
    if (p.mode == 1 && std::max(before, out - in - before) >= in)
      throw Failure(std::string(name) + ": a reflection reaches beyond the " + text(in) + " that are there");
  };
  side("padTop", p.padTop, p.fullInHeight, p.fullOutHeight);
  side("padLeft", p.padLeft, p.fullInWidth, p.fullOutWidth);
}

}  // namespace

bool checkResampling(const Kernel& kernel) {
  switch (kernel.kind) {
    case KernelKind::resizeForward:
    case KernelKind::resizeBackward:
      check(decode<Resize>(kernel));
      return true;
    case KernelKind::adaptivePoolForward:
    case KernelKind::adaptivePoolBackward:
      check(decode<Resampled>(kernel));
      return true;
    case KernelKind::padForward:
    case KernelKind::padBackward:
      check(decode<Pad>(kernel));
      return true;
    default:
      return false;
  }
}

}  // namespace tilefold
