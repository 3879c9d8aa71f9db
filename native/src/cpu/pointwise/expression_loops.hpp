// Expressions over blocks of contiguous floats, step by step in a cache, by the mathematics
// library's vector functions where it has them. An element's result does not depend on where it
// stands.
#pragma once
#include <cstdint>
#include <vector>

#include "../../kernels/expression.hpp"

namespace tilefold::cpu {

constexpr std::int64_t expressionBlock = 256;  // elements

// Blocks of the leaves; null for those that are not read.
using LeafBlocks = Leaves<const float*>;

// An expression as the loops take it: one that the compiler knows, or its steps.
struct BlockExpression {
  explicit BlockExpression(const std::vector<double>& code);
  std::vector<ExpressionStep> steps;
  int known = -1;  // its place in TILEFOLD_EXPRESSIONS
};

// Of expressionBlock elements; the destination may be one of the leaves.
void evaluateBlock(const BlockExpression& expression, const LeafBlocks& leaves, float* destination);

// Of `count` elements, a multiple of expressionBlock, where the compiler knows the expression.
void evaluateKnown(const BlockExpression& expression, const LeafBlocks& leaves, float* destination, std::int64_t count);

// sums[i % lanes] += values[i], in double.
void addToLanes(const float* values, std::int64_t count, double* sums, std::int64_t lanes);

}  // namespace tilefold::cpu
