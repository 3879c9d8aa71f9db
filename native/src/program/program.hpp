// A Program as native/session/encode.ts encodes it, decoded and proven: whatever arrives, what runs
// stays inside its spaces, ends, and touches no page that is not mapped, in whatever order its
// engines run. What the verifier of staging proves beside it is not proven again: that bytes are
// written before they are read, that no two values overlap in time, and that engines wait for each
// other (but for pages). So from a program that no verifier saw values may be anything.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "../device.hpp"
#include "../kernels/kernels.hpp"

namespace tilefold {

// ---- as it arrives ------------------------------------------------------------------------------

struct EncodedSection {
  std::string name;
  std::vector<double> code;
  double stepIoBytes = 0;
};

struct EncodedProgram {
  double arenaBytes = 0, peakBytes = 0, hostBytes = 0;
  // Of virtual addressing; all 0 where there is none.
  double pageBytes = 0, addressBytes = 0, residentBytes = 0;
  std::array<double, 4> input{};  // [B, C, H, W] of the images that loadImage reads
  std::vector<double> kernels;    // [code, ...fields] of one kernel after the other
  // Of each kernel, the bytes that its scratch or indices may take, whose size the device decides;
  // of any other kernel any number.
  std::vector<double> workspaces;
  std::vector<EncodedSection> sections;
};

// ---- as it runs ---------------------------------------------------------------------------------

enum class Space : int { none, arena, stepIo, index };

constexpr std::size_t axisCount = 3;  // tile axes B, H, W

// base + strides . tile index.
struct Offset {
  std::int64_t base = 0;
  std::array<std::int64_t, axisCount> strides{};
};

struct Address : Offset {
  Space space = Space::none;
};

enum class Engine : int { compute, toDevice, toHost, network };

constexpr std::size_t engineCount = 4;
// Those that run beside the compute engine.
constexpr std::array<Engine, 3> otherEngines{Engine::toDevice, Engine::toHost, Engine::network};

template <class T>
using PerEngine = std::array<T, engineCount>;

template <class T>
T& of(PerEngine<T>& values, Engine engine) {
  return values[static_cast<std::size_t>(engine)];
}
template <class T>
const T& of(const PerEngine<T>& values, Engine engine) {
  return values[static_cast<std::size_t>(engine)];
}

struct Launch {
  Engine engine = Engine::compute;  // toDevice: of a loadImage; network: of a copyBox
  std::size_t kernel = 0;
  std::vector<Address> operands;
};

// `rows` runs of `rowBytes` bytes between the arena and the host pool, in the engine's direction.
struct Copy {
  Engine engine = Engine::toDevice;
  std::int64_t rows = 0, rowBytes = 0, deviceRowStride = 0, hostRowStride = 0;
  Offset device, host;
};

// On the network engine: `bytes` to and from each rank, at places so far apart in the arena. Of
// fewer ranks than there are, with those of its group: as many, one after the other, or so many
// `apart`.
struct AllToAll {
  std::int64_t ranks = 1, apart = 1, bytes = 0, sendStride = 0, receiveStride = 0;
  Offset send, receive;
};

// Bytes of the arena that go to a rank, or come from it.
struct Message {
  std::int64_t rank = 0, bytes = 0, base = 0;
};

// On the network engine, with those of the ranks that it names, each once on either side.
struct Exchange {
  std::int64_t ranks = 1;
  std::vector<Message> sends, receives;
};

// Events are counted from 0 within a section.
struct Record {
  Engine engine = Engine::compute;
  std::size_t event = 0;
};

struct Wait {
  Engine engine = Engine::compute;
  std::size_t event = 0;
};

// `bytes` of memory from `memory` on, at `address` of the arena.
struct Map {
  std::size_t address = 0, memory = 0, bytes = 0;
};

struct Unmap {
  std::size_t address = 0, bytes = 0;
};

// Of slices that lie one after the other, as many as there are ranks, this rank's to another place
// of the arena. On the compute engine: nothing travels.
struct OwnSlice {
  std::int64_t ranks = 1, bytes = 0;
  Offset from, to;
};

struct Loop;
using Instruction = std::variant<Launch, Loop, Copy, Record, Wait, Map, Unmap, AllToAll, Exchange, OwnSlice>;
using Code = std::vector<Instruction>;

struct Loop {
  std::size_t axis = 0;
  std::int64_t count = 0;
  Code body;
  // So many of its first launches need not run again where the first of them loads the same tile
  // as before.
  std::size_t repeated = 0;
};

struct Section {
  std::string name;
  Code code;
  // The part of it that each engine runs; every one counts the records of the others. Empty for an
  // engine that has nothing to do.
  PerEngine<Code> parts;
  std::size_t eventCount = 0;
  std::size_t stepIoBytes = 0;
  bool loadsImages = false;
  std::set<std::int64_t> ranks;  // with how many it exchanges: all, groups of them, or both
};

struct ImageExtent {
  std::int64_t batch = 0, channels = 0, height = 0, width = 0;
};

// Virtual addressing: the arena is `addressBytes` of addresses to which pages of memory are
// mapped, `residentBytes` from the start of both from beginning to end. No pages: pageBytes is 0,
// and the arena's addresses are its memory's.
struct Pages {
  std::size_t pageBytes = 0, addressBytes = 0, residentBytes = 0;
};

struct Program {
  Pages pages;
  std::size_t arenaBytes = 0, peakBytes = 0, hostBytes = 0;
  ImageExtent input;
  std::vector<Kernel> kernels;
  std::vector<Section> sections;
};

// Throws Failure, one sentence, for anything that is not a whole and sound program for this device.
Program decodeProgram(const EncodedProgram& encoded, Device& device);

}  // namespace tilefold
