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

}  // namespace tilefold
