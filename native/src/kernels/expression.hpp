// Functions of single elements as a Program writes them: steps of an operation each, over a few
// registers.
#pragma once
#include <cstdint>
#include <vector>

#include "operations.hpp"

namespace tilefold {

constexpr int registerCount = 32, maxSteps = 256, stepNumbers = 5;

struct ExpressionStep {
  Operation operation;
  std::uint8_t destination, a, b, c;  // an operand that the operation has not is another one again
  double constant;
};

// The steps of an encoded expression, the last of which writes the result. Every register is
// written before it is read; else a Failure.
std::vector<ExpressionStep> expressionSteps(const std::vector<double>& code);

// Whether an expression reads this leaf.
bool readsLeaf(const std::vector<ExpressionStep>& steps, Operation leaf);

inline double evaluate(const std::vector<ExpressionStep>& steps, const Leaves<double>& leaves) {
  double registers[registerCount] = {};
  double result = 0;
  for (const ExpressionStep& step : steps)
    registers[step.destination] = result =
        computeStep(step.operation, registers[step.a], registers[step.b], registers[step.c], step.constant, leaves);
  return result;
}

}  // namespace tilefold
