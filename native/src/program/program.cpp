#include "program.hpp"

#include <algorithm>
#include <tuple>

#include "code_reader.hpp"
#include "kernel_decoder.hpp"
#include "../kernels/kernel_fields.hpp"
#include "../whole.hpp"

namespace tilefold {
namespace {

std::size_t size(const std::string& what, double value) {
  const std::int64_t bytes = wholeNumber(what, value);
  if (bytes < 0 || bytes > largestSpace) throw Failure(what + " is outside 0 .. 2^46 bytes: " + std::to_string(bytes));
  return static_cast<std::size_t>(bytes);
}

Pages decodePages(const EncodedProgram& encoded, std::size_t peakBytes) {
  const Pages pages{size("pageBytes", encoded.pageBytes), size("addressBytes", encoded.addressBytes),
                      size("residentBytes", encoded.residentBytes)};
  if (pages.pageBytes == 0) {
    if (pages.addressBytes != 0 || pages.residentBytes != 0) throw Failure("it has addresses for pages of 0 bytes");
    return pages;
  }
  for (const auto& [what, bytes] : {std::pair("addresses", pages.addressBytes), std::pair("resident bytes", pages.residentBytes),
                                    std::pair("bytes of memory", peakBytes)})
    if (bytes % pages.pageBytes != 0)
      throw Failure("its " + std::to_string(bytes) + " " + what + " are no whole pages of " + std::to_string(pages.pageBytes) + " bytes");
  if (pages.residentBytes > std::min(pages.addressBytes, peakBytes))
    throw Failure("its " + std::to_string(pages.residentBytes) + " resident bytes are more than it has addresses or memory for");
  return pages;
}

ImageExtent decodeInput(const std::array<double, 4>& numbers) {
  const ImageExtent input{wholeNumber("the input's batch", numbers[0]), wholeNumber("the input's channels", numbers[1]),
                          wholeNumber("the input's height", numbers[2]), wholeNumber("the input's width", numbers[3])};
  if (input.batch < 1 || input.channels < 1 || input.height < 1 || input.width < 1) throw Failure("the input has an extent below 1");
  checkedMultiply(checkedMultiply(input.batch, input.channels), checkedMultiply(input.height, input.width));
  return input;
}

void checkLoadImage(const LoadImage& load, const ImageExtent& input) {
  if (load.channels != input.channels || load.fullHeight != input.height || load.fullWidth != input.width)
    throw Failure("loadImage reads images of " + std::to_string(load.channels) + "x" + std::to_string(load.fullHeight) + "x" +
                  std::to_string(load.fullWidth) + ", but the input is " + std::to_string(input.channels) + "x" +
                  std::to_string(input.height) + "x" + std::to_string(input.width));
  if (load.batch > input.batch) throw Failure("loadImage reads more images than the batch of " + std::to_string(input.batch));
}

// Throws Failure where the device takes more for an operand whose size it decides than was planned,
// on another machine perhaps.
void checkWorkspace(const KernelInfo& info, const std::vector<OperandExtent>& extents, std::int64_t planned) {
  for (std::size_t i = 0; i < info.operands.size(); ++i) {
    const std::string name = info.operands[i].name;
    if ((name == "scratch" || name == "indices") && extents[i].bytes > planned)
      throw Failure("takes " + std::to_string(extents[i].bytes) + " bytes of " + name + " on this device, where " + std::to_string(planned) +
                    " were planned");
  }
}

Program decodeAll(const EncodedProgram& encoded, Device& device) {
  Program program;
  program.arenaBytes = size("arenaBytes", encoded.arenaBytes);
  program.peakBytes = size("peakBytes", encoded.peakBytes);
  program.hostBytes = size("hostBytes", encoded.hostBytes);
  program.pages = decodePages(encoded, program.peakBytes);
  program.input = decodeInput(encoded.input);
  program.kernels = decodeKernels(encoded.kernels);
  const std::size_t arenaBytes = program.pages.pageBytes == 0 ? program.peakBytes : program.pages.addressBytes;
  std::size_t largest = arenaBytes;
  for (const EncodedSection& section : encoded.sections)
    largest = std::max(largest, size("stepIoBytes of " + section.name, section.stepIoBytes));
  if (encoded.workspaces.size() != program.kernels.size())
    throw Failure("it has workspaces for " + std::to_string(encoded.workspaces.size()) + " kernels instead of " +
                  std::to_string(program.kernels.size()));
  std::vector<std::vector<OperandExtent>> extents;
  for (const Kernel& kernel : program.kernels) {
    const std::size_t planned = size("a workspace", encoded.workspaces[extents.size()]);
    try {
      std::vector<OperandExtent> operands = operandExtents(kernel, device, static_cast<std::int64_t>(largest));
      checkWorkspace(kernelInfo(kernel.kind), operands, static_cast<std::int64_t>(planned));
      extents.push_back(std::move(operands));
    } catch (const Failure& failure) {
      throw Failure("kernel " + std::to_string(extents.size()) + ", " + kernelInfo(kernel.kind).name + ", " + failure.what());
    }
    if (kernel.kind != KernelKind::loadImage) continue;
    const auto load = decode<LoadImage>(kernel);
    checkLoadImage(load, program.input);
    extents.back()[1].limit = program.input.batch - load.batch;
  }
  for (const EncodedSection& encodedSection : encoded.sections) {
    Section section;
    section.name = encodedSection.name;
    section.stepIoBytes = size("stepIoBytes of " + section.name, encodedSection.stepIoBytes);
    const CodeLimits limits{program.kernels,
                            extents,
                            static_cast<std::int64_t>(arenaBytes),
                            static_cast<std::int64_t>(program.hostBytes),
                            static_cast<std::int64_t>(section.stepIoBytes),
                            program.pages,
                            static_cast<std::int64_t>(program.peakBytes)};
    try {
      readCode(encodedSection.code, limits, section);
    } catch (const Failure& failure) {
      throw Failure("section " + section.name + ", " + failure.what());
    }
    program.sections.push_back(std::move(section));
  }
  return program;
}

}  // namespace

Program decodeProgram(const EncodedProgram& encoded, Device& device) {
  for (const auto& [what, bytes, budget] :
       {std::tuple("arena", encoded.arenaBytes, "budget"), std::tuple("host pool", encoded.hostBytes, "host budget")})
    if (bytes > static_cast<double>(largestSpace) && bytes <= 0x1p53)
      throw NoMemory("the " + std::string(what) + " of " + std::to_string(static_cast<std::int64_t>(bytes)) +
                     " bytes is larger than any machine's memory: give a " + budget + ", or a smaller one");
  Program program;
  try {
    program = decodeAll(encoded, device);
  } catch (const Failure& failure) {
    throw Failure("the program is damaged (" + std::string(failure.what()) + "): stage it again");
  }
  if (program.peakBytes > program.arenaBytes)
    throw Failure("the program needs " + std::to_string(program.peakBytes) + " bytes, more than the arena's " +
                  std::to_string(program.arenaBytes) + ": give the arena at least that much");
  return program;
}

}  // namespace tilefold
