// Statistics of a tile, and normalisation by them: batch, group and instance normalisation in any
// layout.
#pragma once
#include "../normalisation.hpp"

namespace tilefold::reference {

// Merges the tile's moments, found in two passes, into those that are there; one row each group.
template <class T>
void momentsForward(const GroupedTile& t, const T* source, Moments* moments);

// Of count 1, so that the variance is the sum of squared deviations.
template <class T>
void momentsOfRunning(const ChannelCount& c, const T* mean, const T* variance, Moments* moments);

// As torch.nn.BatchNorm2d: running = (1 - momentum) running + momentum batch, the batch's variance
// over count - 1.
template <class T>
void updateRunning(const UpdateRunning& u, const Moments* moments, T* mean, T* variance);

template <class T>
void normaliseForward(const Normalise& n, const NormaliseOperands<T>& operands, T* destination);

// Adds to the sums [images][channels].
template <class T>
void normaliseBackwardReduce(const Normalise& n, const NormaliseOperands<T>& operands, GradientSums* sums);

// Either gradient may be absent.
template <class T>
void normaliseParameters(const NormaliseParameters& p, const GradientSums* sums, T* weightGradient, T* biasGradient);

// The gradient of Ioffe and Szegedy 2015, section 3, with means over a row's count; `sums` may be
// null: moments are constants. The gradients may be one.
template <class T>
void normaliseBackward(const Normalise& n, const NormaliseOperands<T>& operands, const GradientSums* sums, T* sourceGradient);

}  // namespace tilefold::reference
