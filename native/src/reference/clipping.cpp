#include "clipping.hpp"

#include <cmath>

namespace tilefold::reference {

template <class T>
void sumSquares(const Count& s, const T* source, double* sum) {
  double squares = 0;
  for (std::int64_t i = 0; i < s.count; ++i) squares += static_cast<double>(source[i]) * static_cast<double>(source[i]);
  *sum += squares;
}

template <class T>
void clipGradient(const ClipGradient& c, double sumSquares, T* gradient) {
  const T scale = static_cast<T>(clippingScale(c, sumSquares));
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < c.count; ++i) gradient[i] *= scale;
}

void squareRoot(const Count& s, const double* source, double* destination) {
  for (std::int64_t i = 0; i < s.count; ++i) destination[i] = std::sqrt(source[i]);
}

#define TILEFOLD_INSTANTIATE(T)                                      \
  template void sumSquares<T>(const Count&, const T*, double*); \
  template void clipGradient<T>(const ClipGradient&, double, T*);
TILEFOLD_INSTANTIATE(float)
TILEFOLD_INSTANTIATE(double)
#undef TILEFOLD_INSTANTIATE

}  // namespace tilefold::reference
