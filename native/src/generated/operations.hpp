// Written by "npm run generate" from staging/kernels and dsl/expression.
#pragma once

namespace tilefold {

// What an expression is made of: its code is its position.
enum class Operation : int {
  input,
  second,
  gradient,
  weight,
  bias,
  constant,
  neg,
  exp,
  expm1,
  log,
  log1p,
  sqrt,
  tanh,
  erf,
  sigmoid,
  detach,
  add,
  sub,
  mul,
  div,
  minimum,
  maximum,
  less,
  lessEqual,
  where
};

constexpr int operationCount = 25;

// Those that compute something from operands.
#define TILEFOLD_OPERATIONS(visit) visit(neg) visit(exp) visit(expm1) visit(log) visit(log1p) visit(sqrt) visit(tanh) visit(erf) visit(sigmoid) visit(detach) visit(add) visit(sub) visit(mul) visit(div) visit(minimum) visit(maximum) visit(less) visit(lessEqual) visit(where)

}  // namespace tilefold
