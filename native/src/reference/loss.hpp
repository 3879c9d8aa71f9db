// Losses; what is summed is summed in double, row after row, so that tiles along the batch change
// nothing.
#pragma once
#include <cstdint>

#include "../bfloat16.hpp"
#include "../kernel_fields.hpp"

namespace tilefold::reference {

// loss[0] += -log softmax(source)[label] / fullBatch of every row, loss[1] += rows whose largest
// score is the label's. A row's loss and gradient are multiplied by its weight; without
// `rowWeights` (null) every weight is 1. Throws Failure for a label outside 0 .. classes - 1.
template <class T>
void softmaxCrossEntropyForward(const CrossEntropy& c, const T* source, const std::int32_t* labels, const ParameterOf<T>* rowWeights,
                                double* loss);
template <class T>
void softmaxCrossEntropyBackward(const CrossEntropy& c, const T* source, const std::int32_t* labels, const ParameterOf<T>* rowWeights,
                                 T* sourceGradient);

// loss[0] += sum (source - target)^2 / count; `target` is plain and strided.
template <class T>
void meanSquaredErrorForward(const SquaredError& s, const T* source, const ParameterOf<T>* target, double* loss);
template <class T>
void meanSquaredErrorBackward(const SquaredError& s, const T* source, const ParameterOf<T>* target, T* sourceGradient);

}  // namespace tilefold::reference
