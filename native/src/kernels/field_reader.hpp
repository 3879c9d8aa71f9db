// Reads the numbers of a kernel in the table's order; one that is not what its field may be is a
// Failure.
#pragma once
#include "kernels.hpp"

namespace tilefold {

// Not inline: what decodes has hundreds of fields to read, and would have all of this for each.
class FieldReader {
 public:
  explicit FieldReader(const Kernel& kernel) : kernel_(kernel) {}

  double number();
  std::int64_t integer();
  bool flag();
  Layout layout();
  // A list with its length before it, the last field.
  std::vector<double> numbers();

  bool end() const { return next_ == kernel_.fields.size(); }

 private:
  std::string fieldName() const;

  const Kernel& kernel_;
  std::size_t next_ = 0;
};

}  // namespace tilefold
