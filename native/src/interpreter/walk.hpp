// The way through a section, of one engine or of all of them in program order.
#pragma once
#include <array>
#include <optional>
#include <vector>

#include "interpreter.hpp"

namespace tilefold {

class Interpreter::Walk {
 public:
  // No engine: all of them. `leavesOut`: launches of a tile that is the one before.
  Walk(Interpreter& interpreter, std::optional<Engine> engine, const Section& section, std::byte* stepIo, const StepParameters& step,
       bool leavesOut, Progress& progress);

  // False when the run ended first.
  bool run(const Code& code, std::size_t from = 0);

  // Whether any tile is the one before; runs nothing.
  bool repeatsTile(const Code& code);

 private:
  // The records of one event that came before, in program order.
  struct Recorded {
    PerEngine<std::uint64_t> times{};
    Engine last = Engine::compute;
  };

  std::int64_t resolve(const Offset& offset) const;
  void resolve(const Launch& launch);

  // Notes when `body` begins and ends, where that is asked for.
  template <class Body>
  bool traced(Engine engine, const Body& body);
  // Each iteration until one says false.
  template <class Iteration>
  bool iterate(const Loop& loop, const Iteration& iteration);

  bool execute(const Launch& launch);
  bool execute(const Loop& loop);
  bool execute(const Copy& copy);
  bool execute(const AllToAll& all);
  bool execute(const Exchange& exchange);
  bool execute(const OwnSlice& own);
  bool execute(const Record& record);
  bool execute(const Wait& wait);
  bool execute(const Map& map);
  bool execute(const Unmap& unmap);

  bool repeatsTile(const Loop& loop);
  // The loadImage that a tile's launches begin with; resolves its operands.
  CompiledKernel& kernelOfTile(const Loop& loop);
  // Of an iteration whose tile is the one before only what is not the same again.
  bool runTile(const Loop& loop, std::optional<PlainTile>& before);
  // A message to each, and one of each.
  bool exchangeWithEach(const AllToAll& all, const std::byte* send, std::byte* receive);
  // In rounds, each with one other rank, after which twice as many ranks' bytes are here.
  bool gatherByDoubling(const AllToAll& all, const std::byte* send, std::byte* receive);
  // With the ranks of this one's group, of as many as there are parts; nothing with any other.
  bool exchangeInGroup(const std::vector<RankBuffers>& parts);

  Interpreter& interpreter_;
  Engines& engines_;
  std::optional<Engine> engine_;
  std::byte* stepIo_;
  const StepParameters& step_;
  bool leavesOut_;
  Progress& progress_;
  std::vector<Recorded> recorded_;
  std::array<std::int64_t, axisCount> index_{};
  std::vector<Operand> operands_{};
};

}  // namespace tilefold
