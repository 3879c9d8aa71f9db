// Reads the numbers of a kernel in the table's order; one that is not what its field may be is a Failure.
#pragma once
#include <algorithm>
#include <cmath>

#include "kernels.hpp"
#include "whole.hpp"

namespace tilefold {

class FieldReader {
 public:
  explicit FieldReader(const Kernel& kernel) : kernel_(kernel) {}

  double number() {
    if (next_ >= kernel_.fields.size()) throw Failure("too few fields");
    const double value = kernel_.fields[next_++];
    if (!std::isfinite(value)) throw Failure("field '" + fieldName() + "' is not a finite number");
    return value;
  }

  std::int64_t integer() {
    const double value = number();
    return wholeNumber("field '" + fieldName() + "'", value);
  }

  Layout layout() {
    const std::int64_t code = integer();
    if (code < 0 || code >= static_cast<std::int64_t>(layouts.size()))
      throw Failure("field '" + fieldName() + "' is no layout's code: " + std::to_string(code));
    return static_cast<Layout>(code);
  }

  // A list with its length before it, the last field.
  std::vector<double> numbers() {
    const std::int64_t count = integer();
    if (count < 0 || static_cast<std::size_t>(count) > kernel_.fields.size() - next_)
      throw Failure("field '" + fieldName() + "' has " + std::to_string(count) + " numbers, more than there are");
    const auto first = kernel_.fields.begin() + static_cast<std::ptrdiff_t>(next_);
    if (!std::all_of(first, first + count, [](double value) { return std::isfinite(value); }))
      throw Failure("field '" + fieldName() + "' has a number that is not finite");
    next_ += static_cast<std::size_t>(count);
    return {first, first + count};
  }

  bool end() const { return next_ == kernel_.fields.size(); }

  bool flag() {
    const std::int64_t value = integer();
    if (value != 0 && value != 1) throw Failure("field '" + fieldName() + "' is neither 0 nor 1: " + std::to_string(value));
    return value == 1;
  }

 private:
  std::string fieldName() const { return kernelInfo(kernel_.kind).fields.at(next_ - 1); }

  const Kernel& kernel_;
  std::size_t next_ = 0;
};

}  // namespace tilefold
