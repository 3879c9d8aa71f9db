#include "bounded_run.hpp"

#include <algorithm>
#include <stdexcept>

#include "address_sanitizer.hpp"
#include "guarded_buffer.hpp"
#include "mirror_network.hpp"

namespace tilefold::test {
namespace {

constexpr std::int64_t maxInstructions = 2000;
constexpr std::size_t maxBytes = 4 << 20;

// Instructions that one engine runs, loops counted out, up to the most that are of interest.
std::int64_t instructions(const Code& code) {
  std::int64_t sum = 0;
  for (const Instruction& instruction : code) {
    const auto* loop = std::get_if<Loop>(&instruction);
    const std::int64_t body = loop == nullptr ? 1 : instructions(loop->body);
    const std::int64_t count = loop == nullptr ? 1 : loop->count;
    sum = count > maxInstructions / body ? maxInstructions : sum + count * body;
    if (sum >= maxInstructions) return maxInstructions;
  }
  return sum;
}

// An I/O buffer between canaries. A sanitizer sees who touches them; what is compiled at run
// time it does not see, hence the look at them afterwards and the inaccessible page behind.
class Watched {
 public:
  explicit Watched(std::size_t bytes) : bytes_(bytes), memory_(guarded::guardedMemory(canary + bytes + canary)) {
    std::fill(start(), end(), filling);
    std::fill(data(), data() + bytes, std::byte{0});
    ASAN_POISON_MEMORY_REGION(start(), canary);
    ASAN_POISON_MEMORY_REGION(data() + bytes_, canary);
  }
  ~Watched() { unpoison(); }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

  std::byte* data() const { return start() + canary; }
  bool intact() const {
    unpoison();
    const auto untouched = [](std::byte byte) { return byte == filling; };
    return std::all_of(start(), data(), untouched) && std::all_of(data() + bytes_, end(), untouched);
  }

 private:
  static constexpr std::size_t canary = 256;
  static constexpr std::byte filling{0xC5};
  std::byte* start() const { return static_cast<std::byte*>(memory_.get()); }
  std::byte* end() const { return data() + bytes_ + canary; }
  void unpoison() const { ASAN_UNPOISON_MEMORY_REGION(start(), canary + bytes_ + canary); }

  std::size_t bytes_;
  std::shared_ptr<void> memory_;
};

}  // namespace

bool runBounded(const EncodedProgram& encoded, Device& device, const StepParameters& step) {
  std::unique_ptr<Interpreter> interpreter;
  try {
    Program program = decodeProgram(encoded, device);
    if (program.arenaBytes > maxBytes || program.hostBytes > maxBytes) return true;
    interpreter = std::make_unique<Interpreter>(std::move(program), device, 0, Measuring{}, std::make_shared<MirrorNetwork>(mirrorRanks));
  } catch (const Failure&) {
    return false;
  }
  Progress progress;
  for (const Section& section : interpreter->program().sections) {
    const auto tooLong = [](const Code& code) { return instructions(code) >= maxInstructions; };
    if (section.stepIoBytes > maxBytes || std::any_of(section.parts.begin(), section.parts.end(), tooLong)) continue;
    const Watched stepIo(section.stepIoBytes);
    progress.begin();
    try {
      if (!interpreter->run(section, stepIo.data(), step, progress)) throw std::logic_error("a section ended early");
    } catch (const Failure&) {
      // Labels, indices and images are only known at run time.
    }
    if (!stepIo.intact()) throw std::logic_error("a section wrote beside its I/O buffer");
    if (interpreter->engines().arenaPeakBytes() > interpreter->program().peakBytes)
      throw std::logic_error("a section wrote beyond its peak");
    if (!interpreter->engines().surroundingsIntact()) throw std::logic_error("a section wrote beside the arena or the host pool");
  }
  return true;
}

}  // namespace tilefold::test
