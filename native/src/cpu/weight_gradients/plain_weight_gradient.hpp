// Weight gradients of convolutions of a plain source, as an image is: its few channels fill no
// block, so one row of the window after the other is summed, all its taps side by side.
#pragma once
#include "../../kernels/kernel_fields.hpp"
#include "../operands/launch.hpp"

namespace tilefold::cpu {

bool fitsPlainWeightGradient(KernelKind kind, const Convolution& c);

// Of float. Sums of some pixels are added in double, so that long ones keep their digits; the
// number of threads changes no bit.
Launch compilePlainWeightGradient(const Convolution& c, int threads);

}  // namespace tilefold::cpu
