// Reads the numbers of a section's code one after the other. What is wrong is said with the place
// where its instruction begins.
#pragma once
#include <cmath>
#include <string>
#include <vector>

#include "../whole.hpp"
#include "program.hpp"

namespace tilefold {

class CodeCursor {
 protected:
  explicit CodeCursor(const std::vector<double>& numbers) : numbers_(numbers), end_(numbers.size()) {}

  std::size_t size() const { return numbers_.size(); }
  std::size_t position() const { return at_; }
  // Nothing is read from `end` on.
  void stopAt(std::size_t end) { end_ = end; }

  // The code of the instruction that begins here.
  std::int64_t beginInstruction() {
    start_ = at_;
    return next();
  }

  std::int64_t next() {
    if (at_ >= end_) throw Failure(place() + " is cut off");
    const double value = numbers_[at_++];
    // Formatting the place costs far more than the check, and nearly every number is whole.
    if (!(value == std::trunc(value) && std::fabs(value) <= 0x1p53)) wholeNumber(place() + ": number " + std::to_string(at_ - 1), value);
    return static_cast<std::int64_t>(value);
  }

  std::string place() const { return "the instruction at number " + std::to_string(start_); }

  Address nextAddress() {
    Address address;
    const std::int64_t space = next();
    if (space < 0 || space >= spaceCount) throw Failure(place() + " names the unknown space " + text(space));
    address.space = static_cast<Space>(space);
    static_cast<Offset&>(address) = nextOffset();
    return address;
  }

  Offset nextOffset() {
    Offset offset;
    offset.base = next();
    for (std::int64_t& stride : offset.strides) stride = next();
    return offset;
  }

  // Says where the rest of a sentence comes from.
  template <class Step>
  void placed(const Step& step) const {
    try {
      step();
    } catch (const Failure& failure) {
      throw Failure(place() + " " + failure.what());
    }
  }

 private:
  static constexpr std::int64_t spaceCount = 4;
  const std::vector<double>& numbers_;
  std::size_t at_ = 0, end_, start_ = 0;
};

}  // namespace tilefold
