#include "kernel_checks.hpp"

namespace tilefold {
namespace {

void check(const ChannelCount& c) { positive("channels", c.channels); }

void check(const UpdateRunning& u) {
  check(static_cast<const ChannelCount&>(u));
  if (!(u.momentum >= 0 && u.momentum <= 1)) throw Failure("momentum must lie in [0, 1], not " + std::to_string(u.momentum));
}

void check(const AddSums& s) {
  positive("count", s.count);
  positive("parts", s.parts);
}

void check(const NormaliseParameters& p) {
  positive("images", p.images);
  positive("channels", p.channels);
}

void check(const Normalise& n) {
  check(static_cast<const GroupedTile&>(n));
  notNegative("epsilon", n.epsilon);
  notNegative("slope", n.slope);
}

}  // namespace

bool checkNormalisation(const Kernel& kernel) {
  switch (kernel.kind) {
    case KernelKind::momentsForward:
      check(decode<GroupedTile>(kernel));
      return true;
    case KernelKind::mergeMoments:
      check(decode<MergeParts>(kernel));
      return true;
    case KernelKind::addSums:
      check(decode<AddSums>(kernel));
      return true;
    case KernelKind::momentsOfRunning:
      check(decode<ChannelCount>(kernel));
      return true;
    case KernelKind::updateRunning:
      check(decode<UpdateRunning>(kernel));
      return true;
    case KernelKind::normaliseForward:
    case KernelKind::normaliseBackwardReduce:
      check(decode<Normalise>(kernel));
      return true;
    case KernelKind::normaliseParameters:
      check(decode<NormaliseParameters>(kernel));
      return true;
    case KernelKind::normaliseBackward:
      check(decode<Normalise>(kernel));
      return true;
    default:
      return false;
  }
}

}  // namespace tilefold
