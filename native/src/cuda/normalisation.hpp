// Statistics of a tile, and normalisation by them. Semantics: reference/normalisation.hpp; sums are
// made in double in an order that the shape and the operands' alignment decide.
#pragma once
#include "../normalisation.hpp"
#include "context.hpp"

namespace tilefold::cuda {

template <class T>
void momentsForward(const Context& context, const GroupedTile& t, const T* source, Moments* moments);
void momentsOfRunning(const Context& context, const ChannelCount& c, const float* mean, const float* variance, Moments* moments);
void updateRunning(const Context& context, const UpdateRunning& u, const Moments* moments, float* mean, float* variance);

// Source and destination may coincide.
template <class T>
void normaliseForward(const Context& context, const Normalise& n, const NormaliseOperands<T>& operands, T* destination);
template <class T>
void normaliseBackwardReduce(const Context& context, const Normalise& n, const NormaliseOperands<T>& operands, GradientSums* sums);
void normaliseParameters(const Context& context, const NormaliseParameters& p, const GradientSums* sums, float* weightGradient,
                         float* biasGradient);
// `sums` may be null; the gradients may be one.
template <class T>
void normaliseBackward(const Context& context, const Normalise& n, const NormaliseOperands<T>& operands, const GradientSums* sums,
                       T* sourceGradient);

}  // namespace tilefold::cuda
