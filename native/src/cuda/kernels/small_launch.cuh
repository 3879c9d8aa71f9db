// Kernels that do several launches in one grid (small_launches.hpp).
#pragma once
#include <cstring>
#include <initializer_list>
#include <type_traits>

#include "../launching/small_launches.hpp"
#include "compiled.hpp"
#include "element_loop.cuh"

namespace tilefold::cuda {

// What kernels take by value is 4 KiB at most, some of which is the rest of visitParts'.
template <class Fields>
struct Parts {
  static constexpr std::size_t most = 3840 / sizeof(Fields);
  Fields fields[most];
};

// What all launches of a step share.
struct StepOnDevice {
  const StepBlock* step;
  const Fault* fault;
};

// A row of blocks for each part: part(pack, i, step) as of forEachPack.
template <class Fields>
__global__ void __launch_bounds__(blockThreads) visitParts(Parts<Fields> parts, StepOnDevice step) {
  const Fields& part = parts.fields[blockIdx.y];
  visitPacks<packWidth>(part.packs, part.count, [&](auto pack, std::int64_t i) { part(pack, i, step); });
}

template <class Fields>
void enqueueParts(const Context& context, const std::vector<SmallLaunch>& launches) {
  for (std::size_t first = 0; first < launches.size(); first += Parts<Fields>::most) {
    Parts<Fields> parts{};
    const std::size_t count = std::min(Parts<Fields>::most, launches.size() - first);
    std::int64_t blocks = 1;
    for (std::size_t i = 0; i < count; ++i) {
      Fields& part = parts.fields[i];
      std::memcpy(static_cast<void*>(&part), launches[first + i].fields.data(), sizeof(Fields));
      blocks = std::max(blocks, blocksFor(context, part.packs > 0 ? part.packs : part.count));
    }
    launchGrid(context.compute, Fields::name, visitParts<Fields>, dim3(static_cast<unsigned>(blocks), static_cast<unsigned>(count)),
               blockThreads, parts, StepOnDevice{context.step, context.fault});
  }
}

// Fields: of one launch, with its `name`, `count` of elements, `packs` of them, and the function of
// a pack.
template <class Fields>
SmallLaunch smallLaunch(const Fields& fields, std::initializer_list<Touched> touched) {
  static_assert(std::is_trivially_copyable_v<Fields> && sizeof(Fields) <= sizeof(SmallLaunch::fields), "fields are copied as bytes");
  SmallLaunch launch;
  launch.enqueue = enqueueParts<Fields>;
  launch.elements = fields.count;
  std::copy(touched.begin(), touched.end(), launch.touched.begin());
  std::memcpy(launch.fields.data(), &fields, sizeof(fields));
  return launch;
}

}  // namespace tilefold::cuda
