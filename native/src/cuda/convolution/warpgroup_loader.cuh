// The warpgroup that loads what the others of a gradient's block multiply.
#pragma once
#include <type_traits>

#include "warpgroup_gradient.cuh"

namespace tilefold::cuda {

// A step's loads begin so many steps before they are awaited.
constexpr int stepsAhead = 2;
constexpr int mostStages = 8;

// A stage holds a row of the source and one of the gradient, which the next two rows need too.
struct Stages {
  std::byte* memory;
  StageBarrier *filled, *emptied;
  std::int32_t bytes;

  __device__ std::byte* gradient(int stage) const { return memory + stage * bytes; }
  template <class T>
  __device__ T* source(int stage) const {
    return reinterpret_cast<T*>(gradient(stage) + tileBytes);
  }
};

// Goes through the stages again and again; `parity` is of how often.
struct Turn {
  int stage = 0;
  unsigned parity = 0;

  __device__ void advance(int stages) {
    if (++stage < stages) return;
    stage = 0;
    parity ^= 1;
  }
};

// A thread's part of a row of the gradient on its way: of float32 four pixels of four channels.
template <class T>
struct Coming {};
template <>
struct Coming<float> {
  float4 pixels[4];
};

// Of one thread: the rows of each step, from memory that it goes through column by column.
template <class T>
class RowLoader {
 public:
  __device__ RowLoader(const GradientRows& rows, const T* source, const T* gradient, int thread)
      : rows_(rows),
        ofSource_(source),
        ofGradient_(gradient),
        thread_(thread),
        sourceStep_(static_cast<std::int64_t>(rows.dilationHeight) * rows.width * rows.inChannels),
        gradientStep_(static_cast<std::int64_t>(rows.dilationHeight) * rows.outWidth * rows.outChannels) {}

  // The next step.
  __device__ void go(const RowSteps& at) {
    if (!at.beginsColumn()) {
      source_ += sourceStep_;
      gradient_ += gradientStep_;
      return;
    }
    const std::int64_t image = at.image(), piece = at.piece() * pixelsAtOnce<T>;
    column_ = static_cast<int>(piece) - rows_.padLeft + thread_ / packs;
    source_ = ofSource_ + ((image * rows_.height + at.row()) * rows_.width + column_) * rows_.inChannels + thread_ % packs * elements;
    present_ = rows_.outWidth - static_cast<int>(piece) - gradientPixel();
    gradient_ = ofGradient_ + ((image * rows_.outHeight + at.gradientRow()) * rows_.outWidth + piece + gradientPixel()) * rows_.outChannels +
                gradientChannel();
  }

  __device__ void loadSource(const RowSteps& at, T* to) const {
    constexpr int pixels = warpgroupThreads / packs;
    const bool hasRow = at.row() < rows_.height;
    const int first = thread_ / packs;
    for (int span = 0; span < rows_.spans; ++span) {
      int column = column_ + span * rows_.dilationWidth;
      const T* from = source_ + static_cast<std::int64_t>(span) * rows_.dilationWidth * rows_.inChannels;
      T* place = to + (span * rows_.windowsApart + first) * sourcePitch + thread_ % packs * elements;
#pragma unroll 1
      for (int pixel = first; pixel < rows_.spanPixels; pixel += pixels) {
        copyPack(place, from, hasRow && static_cast<std::uint32_t>(column) < static_cast<std::uint32_t>(rows_.width));
        column += pixels;
        from += pixels * rows_.inChannels;
        place += pixels * sourcePitch;
      }
    }
  }

  // A tile of bf16 has a pixel's channels in each row, as memory has, one of float32 a channel's
  // pixels: a thread turns four by four of them.
  __device__ void loadGradient(const RowSteps& at, std::byte* tile, Coming<T>& coming) const {
    const int present = at.hasGradientRow() ? present_ : 0;
    if constexpr (turns) {
#pragma unroll
      for (int k = 0; k < 4; ++k)
        coming.pixels[k] = k < present ? *reinterpret_cast<const float4*>(gradient_ + k * rows_.outChannels) : float4{0, 0, 0, 0};
    } else {
      constexpr int pixels = warpgroupThreads / packs;
      const T* from = gradient_;
#pragma unroll
      for (int pixel = 0; pixel < pixelsAtOnce<T>; pixel += pixels, from += pixels * rows_.outChannels)
        copyPack(tile + placeInTile(pixel + thread_ / packs, thread_ % packs), from, pixel < present);
    }
  }
  __device__ void storeGradient(std::byte* tile, const Coming<T>& coming) const {
    if constexpr (turns) {
      const float4* const p = coming.pixels;
      const auto store = [&](int channel, float a, float b, float c, float d) {
        std::byte* const to = tile + placeInTile(gradientChannel() + channel, gradientPixel() / 4);
        *reinterpret_cast<uint4*>(to) = {tf32Bits(a), tf32Bits(b), tf32Bits(c), tf32Bits(d)};
      };
      store(0, p[0].x, p[1].x, p[2].x, p[3].x);
      store(1, p[0].y, p[1].y, p[2].y, p[3].y);
      store(2, p[0].z, p[1].z, p[2].z, p[3].z);
      store(3, p[0].w, p[1].w, p[2].w, p[3].w);
    }
  }

 private:
  // Packs of 16 bytes of a pixel's channels.
  static constexpr int elements = 16 / sizeof(T), packs = blockChannels / elements;
  static constexpr bool turns = std::is_same_v<T, float>;
  __device__ int gradientPixel() const { return turns ? thread_ % 8 * 4 : thread_ / packs; }
  __device__ int gradientChannel() const { return turns ? thread_ / 8 * 4 : thread_ % packs * elements; }

  const GradientRows& rows_;
  const T *ofSource_, *ofGradient_;
  int thread_;
  std::int64_t sourceStep_, gradientStep_;
  // Of the step, where this thread begins; rows that are not there are not read.
  const T *source_ = nullptr, *gradient_ = nullptr;
  int column_ = 0, present_ = 0;
};

// What the loading warpgroup does.
template <class T>
__device__ void loadRows(const GradientRows& rows, const Stages& stages, const T* source, const T* gradient, int thread) {
  RowSteps at(rows, blockIdx.z, gridDim.z);
  RowLoader<T> loader(rows, source, gradient, thread);
  Turn begun, ended;
  // In registers until they have arrived.
  Coming<T> coming[stepsAhead + 1];
  const auto begin = [&](Coming<T>& own) {
    if (at.going()) {
      // The first time they are empty.
      stages.emptied[begun.stage].wait(begun.parity ^ 1);
      loader.go(at);
      if (at.multiplies()) loader.loadSource(at, stages.source<T>(begun.stage));
      loader.loadGradient(at, stages.gradient(begun.stage), own);
      at.advance();
      begun.advance(rows.stages);
    }
    closeCopies();
  };
  for (int k = 0; k < stepsAhead; ++k) begin(coming[k]);
  for (bool going = true; going;) {
#pragma unroll
    for (int k = 0; k <= stepsAhead; ++k) {
      begin(coming[(k + stepsAhead) % (stepsAhead + 1)]);
      going = ended.stage != begun.stage;
      if (!going) break;
      awaitCopies<stepsAhead>();
      loader.storeGradient(stages.gradient(ended.stage), coming[k]);
      stages.filled[ended.stage].arrive();
      ended.advance(rows.stages);
    }
  }
}

}  // namespace tilefold::cuda
