// Functions of single elements as a Program writes them: steps of an operation each, over a few registers.
#pragma once
#include <cmath>
#include <cstdint>
#include <vector>

#include "generated/operations.hpp"
#include "host_device.hpp"

namespace tilefold {

constexpr int registerCount = 32, mostSteps = 256, stepNumbers = 5;

struct Instruction {
  Operation operation;
  std::uint8_t destination, a, b, c;
  float constant;
  double exactConstant;
};

// The steps of an encoded expression, the last of which writes the result. Every register is written before it is read; else a Failure.
std::vector<Instruction> instructionsOf(const std::vector<double>& code);

// Whether an expression reads this leaf.
bool readsLeaf(const std::vector<Instruction>& instructions, Operation leaf);

// What the leaves of an expression are for one element.
template <class T>
struct Leaves {
  T input, second, gradient, weight, bias;
};

// One step in double precision: what all devices compute.
inline double computeStep(const Instruction& step, const double* registers, const Leaves<double>& leaves) {
  const double a = registers[step.a], b = registers[step.b];
  switch (step.operation) {
    case Operation::input:
      return leaves.input;
    case Operation::second:
      return leaves.second;
    case Operation::gradient:
      return leaves.gradient;
    case Operation::weight:
      return leaves.weight;
    case Operation::bias:
      return leaves.bias;
    case Operation::constant:
      return step.exactConstant;
    case Operation::neg:
      return -a;
    case Operation::exp:
      return std::exp(a);
    case Operation::expm1:
      return std::expm1(a);
    case Operation::log:
      return std::log(a);
    case Operation::log1p:
      return std::log1p(a);
    case Operation::sqrt:
      return std::sqrt(a);
    case Operation::tanh:
      return std::tanh(a);
    case Operation::erf:
      return std::erf(a);
    case Operation::sigmoid:
      return 1 / (1 + std::exp(-a));
    case Operation::detach:
      return a;
    case Operation::add:
      return a + b;
    case Operation::sub:
      return a - b;
    case Operation::mul:
      return a * b;
    case Operation::div:
      return a / b;
    // NaN where either is.
    case Operation::minimum:
      return a < b || a != a ? a : b;
    case Operation::maximum:
      return a > b || a != a ? a : b;
    case Operation::less:
      return a < b ? 1 : 0;
    case Operation::lessEqual:
      return a <= b ? 1 : 0;
    case Operation::where:
      return a != 0 ? b : registers[step.c];
  }
  return 0;
}

inline double evaluate(const std::vector<Instruction>& instructions, const Leaves<double>& leaves) {
  double registers[registerCount] = {};
  double result = 0;
  for (const Instruction& step : instructions) registers[step.destination] = result = computeStep(step, registers, leaves);
  return result;
}

}  // namespace tilefold
