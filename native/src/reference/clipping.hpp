// Clipping of gradients by the norm of all of them together, as torch.nn.utils.clip_grad_norm_
// (Pascanu, Mikolov, Bengio 2013).
#pragma once
#include "../kernel_fields.hpp"

namespace tilefold::reference {

// sum += the squares of source, in double.
template <class T>
void sumSquares(const Count& s, const T* source, double* sum);

// gradient *= min(1, maxNorm / (sqrt(sumSquares) + 1e-6)).
template <class T>
void clipGradient(const ClipGradient& c, double sumSquares, T* gradient);

void squareRoot(const Count& s, const double* source, double* destination);

}  // namespace tilefold::reference
