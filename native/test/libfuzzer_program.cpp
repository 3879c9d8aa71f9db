// A sound random program, then edits that the bytes spell out, decoded and run: for libFuzzer,
// which learns the bytes that reach further.
#include <cstring>

#include "bounded_run.hpp"
#include "devices.hpp"
#include "random_programs.hpp"

namespace tilefold::test {
namespace {

// The bytes from the front; zeros once there are no more.
class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}
  bool empty() const { return size_ == 0; }

  template <class T>
  T next() {
    T value{};
    const std::size_t taken = std::min(sizeof(T), size_);
    std::memcpy(&value, data_, taken);
    data_ += taken;
    size_ -= taken;
    return value;
  }
  std::size_t below(std::size_t count) { return next<std::uint16_t>() % count; }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
};

double edited(double value, Bytes& bytes) {
  switch (bytes.below(6)) {
    case 0:
      return oddNumbers[bytes.below(std::size(oddNumbers))];
    case 1:
      return value + bytes.next<std::int8_t>();
    case 2:
      return value + 64.0 * bytes.next<std::int16_t>();
    case 3:
      return value * bytes.next<std::int8_t>();
    case 4:
      return static_cast<double>(bytes.next<std::int32_t>());
    default:
      return bytes.next<double>();
  }
}

void edit(std::vector<double>& numbers, Bytes& bytes) {
  const std::size_t position = bytes.below(numbers.size() + 1);
  const auto at = numbers.begin() + static_cast<std::ptrdiff_t>(position);
  switch (bytes.below(8)) {
    case 0:
      numbers.insert(at, edited(0, bytes));
      break;
    case 1: {
      // A part of the numbers once more: instructions and kernels of the right form in other
      // places.
      const std::vector<double> part(at, at + static_cast<std::ptrdiff_t>(std::min(bytes.below(64), numbers.size() - position)));
      numbers.insert(numbers.begin() + static_cast<std::ptrdiff_t>(bytes.below(numbers.size() + 1)), part.begin(), part.end());
      break;
    }
    case 2:
      numbers.erase(at, at + static_cast<std::ptrdiff_t>(std::min(bytes.below(32), numbers.size() - position)));
      break;
    default:
      if (position < numbers.size()) numbers[position] = edited(numbers[position], bytes);
  }
}

void edit(EncodedProgram& program, Bytes& bytes) {
  EncodedSection& section = program.sections[bytes.below(program.sections.size())];
  double* const figures[] = {&program.arenaBytes, &program.peakBytes, &program.hostBytes, &section.stepIoBytes,
                             &program.input[0],   &program.input[1],  &program.input[2],  &program.input[3],
                             &program.pageBytes, &program.addressBytes, &program.residentBytes};
  switch (bytes.below(8)) {
    case 0: {
      double& figure = *figures[bytes.below(std::size(figures))];
      figure = edited(figure, bytes);
      break;
    }
    case 1:
      edit(program.workspaces, bytes);
      break;
    case 2:
    case 3:
      edit(program.kernels, bytes);
      break;
    default:
      edit(section.code, bytes);
  }
}

void runBytes(Bytes bytes) {
  static const std::unique_ptr<Device> devices[] = {makeDevice({"reference", Precision::float32}),
                                                    makeDevice({"reference", Precision::float64}),
                                                    makeDevice({"reference", Precision::bf16}),
                                                    makeDevice({"cpu"})};
  Device& device = *devices[bytes.below(std::size(devices))];
  Random random(bytes.next<std::uint8_t>());
  RandomProgram program = randomProgram(device, random);
  for (int edits = 0; edits < 16 && !bytes.empty(); ++edits) edit(program.encoded, bytes);
  runBounded(program.encoded, device, program.step.parameters);
}

}  // namespace
}  // namespace tilefold::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tilefold::test::runBytes({data, size});
  return 0;
}
