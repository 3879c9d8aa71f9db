// Instructions of a section as they come, and the same by the engine that runs them.
#pragma once
#include "program.hpp"

namespace tilefold {

struct InstructionLists {
  Code all;
  PerEngine<Code> parts;
  void add(Engine engine, const Instruction& instruction) {
    all.push_back(instruction);
    of(parts, engine).push_back(instruction);
  }
};

}  // namespace tilefold
