#include "expression_loops.hpp"

#include <math.h>

#include <algorithm>
#include <iterator>

#include "../vectors/lanes.hpp"

// The C library has vectors of these functions, but declares them under -ffast-math only, which
// would take infinities and NaN away. Its exponential is not taken (exponential.hpp): what a loop
// spills around a call may lie as the function's tables do modulo 4 KiB, and cost 3 times the time.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__GLIBC__)
extern "C" {
#if __GLIBC_PREREQ(2, 22)
__attribute__((simd("notinbranch"))) float logf(float) noexcept;
#endif
#if __GLIBC_PREREQ(2, 35)
__attribute__((simd("notinbranch"))) float expm1f(float) noexcept;
__attribute__((simd("notinbranch"))) float log1pf(float) noexcept;
__attribute__((simd("notinbranch"))) float tanhf(float) noexcept;
__attribute__((simd("notinbranch"))) float erff(float) noexcept;
#endif
}
#endif

#include "../../generated/expressions.hpp"

namespace tilefold::cpu {
namespace {

int knownPlace(const std::vector<double>& code) {
  int place = 0;
#define TILEFOLD_COMPARE(Known)                                                                           \
  if (std::equal(code.begin(), code.end(), std::begin(Known::code), std::end(Known::code))) return place; \
  ++place;
  TILEFOLD_EXPRESSIONS(TILEFOLD_COMPARE)
#undef TILEFOLD_COMPARE
  return -1;
}

// A compiled expression of a tile's elements alone, in functions of its own: among others' loops
// compilers spill constants around each call of a vector function.
template <class Known>
void evaluateAll(const LeafBlocks& leaves, float* destination, std::int64_t count) {
  const float* const leaf = leaves.input;
  const float* const other = leaves.gradient == nullptr ? leaf : leaves.gradient;
  forProcessor(
      [](const float* input, const float* gradient, float* result, std::int64_t elements) TILEFOLD_INLINED {
#pragma omp simd simdlen(16)
        for (std::int64_t i = 0; i < elements; ++i) result[i] = Known::evaluate(input[i], gradient[i]);
      },
      leaf, other, destination, count);
}

void evaluatePlace(int known, const LeafBlocks& leaves, float* destination, std::int64_t count) {
  int place = 0;
#define TILEFOLD_EVALUATE(Known) \
  if (known == place++) return evaluateAll<Known>(leaves, destination, count);
  TILEFOLD_EXPRESSIONS(TILEFOLD_EVALUATE)
#undef TILEFOLD_EVALUATE
}

void evaluateSteps(const std::vector<ExpressionStep>& steps, const LeafBlocks& leaves, float* destination) {
  forProcessor([=, &steps, &leaves]() TILEFOLD_INLINED {
    alignas(64) float registers[registerCount][expressionBlock];
    const float* values[registerCount] = {};
    const ExpressionStep* const last = &steps.back();
    for (const ExpressionStep& step : steps) {
      const float* const a = values[step.a];
      const float* const b = values[step.b];
      const float* const c = values[step.c];
      float* const result = &step == last ? destination : registers[step.destination];
      values[step.destination] = result;
      switch (step.operation) {
        case Operation::input:
          values[step.destination] = leaves.input;
          break;
        case Operation::second:
          values[step.destination] = leaves.second;
          break;
        case Operation::gradient:
          values[step.destination] = leaves.gradient;
          break;
        case Operation::weight:
          values[step.destination] = leaves.weight;
          break;
        case Operation::bias:
          values[step.destination] = leaves.bias;
          break;
        case Operation::constant:
          std::fill_n(result, expressionBlock, static_cast<float>(step.constant));
          break;
#define TILEFOLD_CASE(name)                                                                        \
  case Operation::name:                                                                            \
    _Pragma("omp simd simdlen(16)") for (std::int64_t i = 0; i < expressionBlock; ++i) result[i] = \
        compute<Operation::name>(a[i], b[i], c[i]);                                                \
    break;
          TILEFOLD_OPERATIONS(TILEFOLD_CASE)
#undef TILEFOLD_CASE
      }
    }
    const float* const value = values[last->destination];
    if (value != destination) std::copy_n(value, expressionBlock, destination);
  });
}

}  // namespace

BlockExpression::BlockExpression(const std::vector<double>& code) : steps(expressionSteps(code)), known(knownPlace(code)) {}

void evaluateKnown(const BlockExpression& expression, const LeafBlocks& leaves, float* destination, std::int64_t count) {
  evaluatePlace(expression.known, leaves, destination, count);
}

void evaluateBlock(const BlockExpression& expression, const LeafBlocks& leaves, float* destination) {
  if (expression.known >= 0)
    evaluateKnown(expression, leaves, destination, expressionBlock);
  else
    evaluateSteps(expression.steps, leaves, destination);
}

void addToLanes(const float* values, std::int64_t count, double* sums, std::int64_t lanes) {
  forProcessor([=]() TILEFOLD_INLINED {
    if (lanes == 1) {
      double total[16] = {};
      const std::int64_t whole = count / 16 * 16;
      for (std::int64_t i = 0; i < whole; i += 16)
        for (std::int64_t k = 0; k < 16; ++k) total[k] += static_cast<double>(values[i + k]);
      for (std::int64_t i = whole; i < count; ++i) total[i - whole] += static_cast<double>(values[i]);
      for (const double one : total) sums[0] += one;
      return;
    }
    for (std::int64_t i = 0; i < count; i += lanes)
      for (std::int64_t k = 0; k < lanes && i + k < count; ++k) sums[k] += static_cast<double>(values[i + k]);
  });
}

}  // namespace tilefold::cpu
