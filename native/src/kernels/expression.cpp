#include "expression.hpp"

#include <algorithm>
#include <bitset>
#include <string>

#include "../failure.hpp"
#include "../whole.hpp"

namespace tilefold {
namespace {

int operandCount(Operation operation) {
  if (operation == Operation::where) return 3;
  if (operation >= Operation::add) return 2;
  return operation >= Operation::neg ? 1 : 0;
}

std::uint8_t registerAt(const char* of, double value) {
  const std::int64_t number = wholeNumber(of, value);
  if (number < 0 || number >= registerCount)
    throw Failure(std::string(of) + " is none of the registers 0 .. " + std::to_string(registerCount - 1) + ": " + std::to_string(number));
  return static_cast<std::uint8_t>(number);
}

}  // namespace

std::vector<ExpressionStep> expressionSteps(const std::vector<double>& code) {
  const std::size_t count = code.size() / stepNumbers;
  if (count == 0 || count > maxSteps || code.size() % stepNumbers != 0)
    throw Failure("an expression of " + std::to_string(code.size()) + " numbers is none of 1 to " + std::to_string(maxSteps) +
                  " steps of " + std::to_string(stepNumbers));
  std::vector<ExpressionStep> steps;
  std::bitset<registerCount> written;
  for (std::size_t at = 0; at < code.size(); at += stepNumbers) {
    const std::int64_t operation = wholeNumber("an operation", code[at]);
    if (operation < 0 || operation >= operationCount) throw Failure("there is no operation " + std::to_string(operation));
    ExpressionStep step{static_cast<Operation>(operation), registerAt("a destination", code[at + 1]), 0, 0, 0, 0};
    if (step.operation == Operation::constant) {
      step.constant = code[at + 2];
    } else {
      std::uint8_t* const operands[] = {&step.a, &step.b, &step.c};
      const int operandsRead = operandCount(step.operation);
      for (int i = 0; i < operandsRead; ++i) {
        *operands[i] = registerAt("an operand", code[at + 2 + static_cast<std::size_t>(i)]);
        if (!written[*operands[i]]) throw Failure("register " + std::to_string(*operands[i]) + " is read before it is written");
      }
      for (int i = operandsRead; i < 3; ++i) *operands[i] = step.a;
    }
    written.set(step.destination);
    steps.push_back(step);
  }
  return steps;
}

bool readsLeaf(const std::vector<ExpressionStep>& steps, Operation leaf) {
  return std::any_of(steps.begin(), steps.end(), [leaf](const ExpressionStep& step) { return step.operation == leaf; });
}

}  // namespace tilefold
