// What is mapped while a section's code is read, and whether its engines can touch what is not: a
// program that did would end the process.
#pragma once
#include <cstdint>
#include <map>
#include <unordered_map>

#include "program.hpp"

namespace tilefold {

// Calls come in program order, loops once. What each engine knows of the others is what it has
// waited for (vector clocks): in later iterations of a loop an engine knows no less, and what it
// does after a loop follows the last one, so one iteration stands for all.
class Mappings {
 public:
  // Without pages every touch passes.
  explicit Mappings(const Pages& pages) : pages_(pages) {}

  // Each throws Failure, the rest of a sentence that names the instruction.
  void map(const Map& map);
  void unmap(const Unmap& unmap);
  // Addresses from .. to, at any iteration of the loops around it.
  void touch(Engine engine, std::size_t from, std::size_t to);
  void record(Engine engine, std::size_t event);
  void wait(Engine engine, std::size_t event);
  // At the section's end nothing but residents is left.
  void end() const;

 private:
  using Clock = PerEngine<std::int64_t>;
  struct Mapping {
    std::size_t memory = 0, bytes = 0;
    std::int64_t mapped = 0;  // when, by the compute engine's clock
    Clock touched{};          // when each engine did so last
  };

  bool isResident(std::size_t address) const { return address < pages_.residentBytes; }

  Pages pages_;
  std::map<std::size_t, Mapping> live_;                 // by address
  std::map<std::size_t, std::size_t> memory_;           // bytes from there on that are mapped
  // Each engine's knowledge of all clocks; of its own, the time itself.
  PerEngine<Clock> known_{};
  std::unordered_map<std::size_t, Clock> recorded_;     // by event
};

}  // namespace tilefold
