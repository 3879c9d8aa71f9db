#include "mappings.hpp"

#include <algorithm>

namespace tilefold {
namespace {

constexpr const char* engineNames[] = {"compute", "to-device", "to-host", "network"};

std::string range(std::size_t from, std::size_t to) { return std::to_string(from) + " .. " + std::to_string(to); }

}  // namespace

void Mappings::map(const Map& map) {
  const std::size_t addressEnd = map.address + map.bytes, memoryEnd = map.memory + map.bytes;
  if (isResident(map.address) || isResident(map.memory)) throw Failure("maps what is always mapped");
  const auto above = live_.lower_bound(map.address);
  const bool below = above != live_.begin() && std::prev(above)->first + std::prev(above)->second.bytes > map.address;
  if (below || (above != live_.end() && above->first < addressEnd))
    throw Failure("maps to the addresses " + range(map.address, addressEnd) + ", where something is mapped");
  const auto higher = memory_.lower_bound(map.memory);
  const bool lower = higher != memory_.begin() && std::prev(higher)->first + std::prev(higher)->second > map.memory;
  if (lower || (higher != memory_.end() && higher->first < memoryEnd))
    throw Failure("maps bytes " + range(map.memory, memoryEnd) + " of the memory a second time");
  Mapping mapping{map.memory, map.bytes, ++of(of(known_, Engine::compute), Engine::compute), {}};
  live_.emplace(map.address, mapping);
  memory_.emplace(map.memory, map.bytes);
}

void Mappings::unmap(const Unmap& unmap) {
  const Clock& known = of(known_, Engine::compute);
  const std::size_t end = unmap.address + unmap.bytes;
  std::size_t reached = unmap.address;
  auto found = live_.find(unmap.address);
  while (found != live_.end() && found->first == reached && reached < end) {
    const Mapping& mapping = found->second;
    for (const Engine engine : otherEngines)
      if (of(mapping.touched, engine) > of(known, engine))
        throw Failure("unmaps what the engine " + std::string(engineNames[static_cast<std::size_t>(engine)]) + " may still be working on");
    reached += mapping.bytes;
    memory_.erase(mapping.memory);
    found = live_.erase(found);
  }
  if (reached != end) throw Failure("unmaps the addresses " + range(unmap.address, end) + ", which are not what was mapped");
}

void Mappings::touch(Engine engine, std::size_t from, std::size_t to) {
  if (pages_.pageBytes == 0) return;
  const std::int64_t now = ++of(of(known_, engine), engine);
  if (to <= pages_.residentBytes) return;
  std::size_t reached = std::max(from, pages_.residentBytes);
  auto found = live_.upper_bound(reached);
  if (found != live_.begin()) --found;
  for (; reached < to; ++found) {
    if (found == live_.end() || found->first > reached || found->first + found->second.bytes <= reached)
      throw Failure("touches the addresses " + range(from, to) + ", which are not mapped");
    Mapping& mapping = found->second;
    if (mapping.mapped > of(of(known_, engine), Engine::compute))
      throw Failure("touches the addresses " + range(from, to) + " without having waited for their map");
    of(mapping.touched, engine) = now;
    reached = found->first + mapping.bytes;
  }
}

void Mappings::record(Engine engine, std::size_t event) { recorded_[event] = of(known_, engine); }

void Mappings::wait(Engine engine, std::size_t event) {
  Clock& known = of(known_, engine);
  const Clock& recorded = recorded_.at(event);
  std::transform(known.begin(), known.end(), recorded.begin(), known.begin(), [](auto a, auto b) { return std::max(a, b); });
}

void Mappings::end() const {
  if (!live_.empty())
    throw Failure("the addresses from " + std::to_string(live_.begin()->first) + " on are still mapped at the section's end");
}

}  // namespace tilefold
