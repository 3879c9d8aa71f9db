// Statistics of a tile, and normalisation by them. Semantics: reference/normalisation.hpp; sums are made in double in an order that the
// shape and the operands' alignment decide.
#pragma once
#include "../normalisation.hpp"
#include "context.hpp"

namespace tilefold::cuda {

void momentsForward(const Context& context, const GroupedTile& t, const float* source, Moments* moments);
void momentsOfRunning(const Context& context, const ChannelCount& c, const float* mean, const float* variance, Moments* moments);
void updateRunning(const Context& context, const UpdateRunning& u, const Moments* moments, float* mean, float* variance);

// Source and destination may coincide.
void normaliseForward(const Context& context, const Normalise& n, const NormaliseOperands<float>& operands, float* destination);
void normaliseSums(const Context& context, const Normalise& n, const NormaliseOperands<float>& operands, GradientSums* sums);
void normaliseParameters(const Context& context, const NormaliseParameters& p, const GradientSums* sums, float* weightGradient,
                         float* biasGradient);
// `sums` may be null; the gradients may be one.
void normaliseBackward(const Context& context, const Normalise& n, const NormaliseOperands<float>& operands, const GradientSums* sums,
                       float* sourceGradient);

}  // namespace tilefold::cuda
