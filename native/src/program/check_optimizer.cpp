#include "kernel_checks.hpp"

namespace tilefold {
namespace {

void check(const Optimizer& o) {
  positive("count", o.count);
  notNegative("rate", o.rate);
  notNegative("weightDecay", o.weightDecay);
}

void check(const Sgd& s) {
  check(static_cast<const Optimizer&>(s));
  notNegative("momentum", s.momentum);
}

void check(const Adam& a) {
  check(static_cast<const Optimizer&>(a));
  between("beta1", a.beta1, 0, 1);
  between("beta2", a.beta2, 0, 1);
  notNegative("epsilon", a.epsilon);
}

void check(const ClipGradient& c) {
  positive("count", c.count);
  if (!(c.maxNorm > 0)) throw Failure("maxNorm must be above 0, not " + std::to_string(c.maxNorm));
}

void check(const Count& c) { positive("count", c.count); }

}  // namespace

bool checkOptimizer(const Kernel& kernel) {
  switch (kernel.kind) {
    case KernelKind::sgd:
      check(decode<Sgd>(kernel));
      return true;
    case KernelKind::adam:
      check(decode<Adam>(kernel));
      return true;
    case KernelKind::sumSquares:
      check(decode<Count>(kernel));
      return true;
    case KernelKind::clipGradient:
      check(decode<ClipGradient>(kernel));
      return true;
    case KernelKind::squareRoot:
      check(decode<Count>(kernel));
      return true;
    default:
      return false;
  }
}

}  // namespace tilefold
