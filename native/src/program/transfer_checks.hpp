// What copies and exchanges with ranks may touch. Each check throws Failure, the rest of a sentence
// that names the instruction.
#pragma once
#include <array>
#include <cstdint>

#include "arena_range.hpp"
#include "open_loops.hpp"
#include "program.hpp"

namespace tilefold {

ArenaRange checkCopy(const Copy& copy, const OpenLoops& loops, std::int64_t arenaBytes, std::int64_t hostBytes);

// What is sent, and what is received.
std::array<ArenaRange, 2> checkAllToAll(const AllToAll& all, std::int64_t arenaBytes);

// The slices of all ranks, and where this rank's goes.
std::array<ArenaRange, 2> checkOwnSlice(const OwnSlice& own, std::int64_t arenaBytes);

// Of an exchange, before its messages are read.
void checkMessageCounts(std::int64_t ranks, std::int64_t sends, std::int64_t receives);

// A message that `what` ("sends", "receives") follows one of the rank `before`, -1 for none.
ArenaRange checkMessage(const Message& message, std::int64_t before, std::int64_t ranks, const char* what, std::int64_t arenaBytes);

// Nothing is received where something else is received or sent from.
void checkApart(const Exchange& exchange);

}  // namespace tilefold
