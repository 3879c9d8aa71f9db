#include "field_reader.hpp"

#include <algorithm>
#include <cmath>

#include "../whole.hpp"

namespace tilefold {

double FieldReader::number() {
  if (next_ >= kernel_.fields.size()) throw Failure("too few fields");
  const double value = kernel_.fields[next_++];
  if (!std::isfinite(value)) throw Failure("field '" + fieldName() + "' is not a finite number");
  return value;
}

std::int64_t FieldReader::integer() {
  const double value = number();
  return wholeNumber("field '" + fieldName() + "'", value);
}

bool FieldReader::flag() {
  const std::int64_t value = integer();
  if (value != 0 && value != 1) throw Failure("field '" + fieldName() + "' is neither 0 nor 1: " + std::to_string(value));
  return value == 1;
}

Layout FieldReader::layout() {
  const std::int64_t code = integer();
  if (code < 0 || code >= static_cast<std::int64_t>(layouts.size()))
    throw Failure("field '" + fieldName() + "' is no layout's code: " + std::to_string(code));
  return static_cast<Layout>(code);
}

std::vector<double> FieldReader::numbers() {
  const std::int64_t count = integer();
  if (count < 0 || static_cast<std::size_t>(count) > kernel_.fields.size() - next_)
    throw Failure("field '" + fieldName() + "' has " + std::to_string(count) + " numbers, more than there are");
  const auto first = kernel_.fields.begin() + static_cast<std::ptrdiff_t>(next_);
  if (!std::all_of(first, first + count, [](double value) { return std::isfinite(value); }))
    throw Failure("field '" + fieldName() + "' has a number that is not finite");
  next_ += static_cast<std::size_t>(count);
  return {first, first + count};
}

std::string FieldReader::fieldName() const { return kernelInfo(kernel_.kind).fields.at(next_ - 1); }

}  // namespace tilefold
