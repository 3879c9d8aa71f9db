// Products of matrices that the 128 threads of a warpgroup compute together, and how a block's
// threads hand each other their operands: wgmma, mbarrier and cp.async of the PTX ISA, of compute
// capability 9.0 alone. Tests have an emulation in their place.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "../../kernels/bfloat16.hpp"
#include "../kernels/warp.cuh"

namespace tilefold::cuda {

constexpr int warpgroupThreads = 4 * warpThreads;
// A product adds [64, depth] * [depth, 64]; its left side is in registers, 16 bytes a thread, its
// right side in shared memory, in tiles of 64 rows of 128 bytes: four products deep.
constexpr int productColumns = 64, productsOfTile = 4;
constexpr int tileRowBytes = 128, tileBytes = productColumns * tileRowBytes, tileAlignment = 1024;
template <class T>
constexpr int productDepth = 32 / sizeof(T);

// Sums of one thread, of rows 16 * warp + lane / 4 (+ 8) and columns 8 * block + lane % 4 * 2 (+
// 1).
using ProductSums = float[productColumns / 2];
using LeftSide = std::uint32_t[4];

// What products of float32, which drop the last 13 bits, take for the nearest number of the others.
__device__ inline std::uint32_t tf32Bits(float value) {
  std::uint32_t bits = 0;
  memcpy(&bits, &value, sizeof(bits));
  // What is no number would become one.
  return fabsf(value) < INFINITY ? bits + 0x1000U : bits;
}

// Where 16 bytes of a tile's row lie: shuffled, so that neither rows nor columns meet in one bank.
__device__ inline int placeInTile(int row, int pack) { return row * tileRowBytes + ((pack ^ (row & 7)) << 4); }

#ifdef __CUDACC__

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define TILEFOLD_WARPGROUP(...) asm volatile(__VA_ARGS__)
#else
#define TILEFOLD_WARPGROUP(...) __trap()
#endif

__device__ inline std::byte* dynamicShared() {
  extern __shared__ __align__(1024) std::byte tilefoldDynamicShared[];
  return tilefoldDynamicShared;
}

__device__ inline std::uint32_t sharedAddress(const void* pointer) { return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer)); }

// The number of a thread's warpgroup, known to the compiler to be that of its whole warp: products
// behind a branch that may part them would wait for each other.
__device__ inline int warpgroup() { return __shfl_sync(0xFFFFFFFFU, static_cast<int>(threadIdx.x) / warpgroupThreads, 0); }

// Opens its phases one after another, each once so many threads arrived.
class StageBarrier {
 public:
  __device__ void initialise([[maybe_unused]] int arrivals) {
    TILEFOLD_WARPGROUP("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(sharedAddress(this)), "r"(arrivals));
  }
  __device__ void arrive() { TILEFOLD_WARPGROUP("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(sharedAddress(this)) : "memory"); }
  // Until the phase of this parity has opened.
  __device__ void wait([[maybe_unused]] unsigned parity) {
    TILEFOLD_WARPGROUP(
        "{\n.reg .pred opened;\n"
        "again:\nmbarrier.try_wait.parity.shared::cta.b64 opened, [%0], %1;\n"
        "@opened bra done;\nbra again;\ndone:\n}" ::"r"(sharedAddress(this)),
        "r"(parity)
        : "memory");
  }

 private:
  std::uint64_t state_;
};

// Copies 16 bytes to shared memory, zeros where nothing is present: then `from` is not read, and
// may lie anywhere. In the group that the next closeCopies() of the thread closes.
__device__ inline void copyPack([[maybe_unused]] void* to, [[maybe_unused]] const void* from, [[maybe_unused]] bool present) {
  TILEFOLD_WARPGROUP("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(sharedAddress(to)), "l"(from), "r"(present ? 16 : 0) : "memory");
}
__device__ inline void closeCopies() { TILEFOLD_WARPGROUP("cp.async.commit_group;" ::: "memory"); }
// Until all groups of the thread have arrived but for the last `later`.
template <int later>
__device__ void awaitCopies() {
  TILEFOLD_WARPGROUP("cp.async.wait_group %0;" ::"n"(later) : "memory");
}
// What all threads wrote into shared memory until now is seen by this thread's products. The fence
// may stand with who reads, behind the barrier; it waits for all that its thread loads, so not with
// who loads.
__device__ inline void seeWritten() { TILEFOLD_WARPGROUP("fence.proxy.async.shared::cta;" ::: "memory"); }

// Registers of a thread from here on; all threads of a warpgroup call it.
template <int count>
__device__ void takeRegisters() {
  TILEFOLD_WARPGROUP("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(count));
}
template <int count>
__device__ void leaveRegisters() {
  TILEFOLD_WARPGROUP("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(count));
}

// The left side of which pixels (depth) lie in rows, `channels` (rows of the product) beside each
// other: of the warp's 16 channels, `pitch` elements from pixel to pixel.
__device__ inline void loadLeftSide(LeftSide& left, const Bfloat16* channels, int pitch) {
  const int lane = static_cast<int>(threadIdx.x) % warpThreads;
  [[maybe_unused]] const Bfloat16* const row = channels + (lane / 16 * 8 + lane % 8) * pitch + lane / 8 % 2 * 8;
  TILEFOLD_WARPGROUP("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(left[0]), "=r"(left[1]), "=r"(left[2]), "=r"(left[3])
                     : "r"(sharedAddress(row))
                     : "memory");
}

// The pointer, of which nothing is computed ahead of here: registers are short.
template <class T>
__device__ T* computedHere(T* pointer) {
  asm volatile("" : "+l"(pointer));
  return pointer;
}

// Before the products that follow what was written into registers.
__device__ inline void beginProducts() { TILEFOLD_WARPGROUP("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ inline void closeProducts() { TILEFOLD_WARPGROUP("wgmma.commit_group.sync.aligned;" ::: "memory"); }
// Until all groups of the warpgroup's products have ended but for the last `later`.
template <int later>
__device__ void awaitProducts() {
  TILEFOLD_WARPGROUP("wgmma.wait_group.sync.aligned %0;" ::"n"(later) : "memory");
}

// A tile as products find it.
using RightSide = std::uint64_t;
__device__ inline RightSide rightSide(const std::byte* tile) {
  // Strides of 1024 bytes between eights of rows; rows are shuffled by eights of 16 bytes.
  constexpr RightSide kind = RightSide{1} << 62 | RightSide{tileAlignment >> 4} << 32 | RightSide{tileAlignment >> 4} << 16;
  return kind | sharedAddress(tile) >> 4;
}

// sums += left * right, where right is the product'th of a tile: of float32 rows are columns of the
// product, of bf16 they are its depth. Runs on until it is awaited, in the group that
// closeProducts() closes.
template <class T>
__device__ void addProduct([[maybe_unused]] ProductSums& sums, [[maybe_unused]] const LeftSide& left, RightSide tile, int product) {
  constexpr int stepBytes = std::is_same_v<T, float> ? 32 : productDepth<T> * tileRowBytes;
  [[maybe_unused]] const RightSide right = tile + static_cast<RightSide>(product * stepBytes >> 4);
#define TILEFOLD_SUMS4(i) "+f"(sums[i]), "+f"(sums[i + 1]), "+f"(sums[i + 2]), "+f"(sums[i + 3])
#define TILEFOLD_SUMS                                                                                                             \
  TILEFOLD_SUMS4(0), TILEFOLD_SUMS4(4), TILEFOLD_SUMS4(8), TILEFOLD_SUMS4(12), TILEFOLD_SUMS4(16), TILEFOLD_SUMS4(20), TILEFOLD_SUMS4(24), \
      TILEFOLD_SUMS4(28)
#define TILEFOLD_ADDED "{\n.reg .pred added;\nsetp.ne.b32 added, 1, 0;\n"
#define TILEFOLD_PLACES                                                                                                           \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, " \
  "%27, %28, %29, %30, %31}, {%32, %33, %34, %35}, %36, added, 1, 1"
  if constexpr (std::is_same_v<T, float>)
    TILEFOLD_WARPGROUP(TILEFOLD_ADDED "wgmma.mma_async.sync.aligned.m64n64k8.f32.tf32.tf32 " TILEFOLD_PLACES ";\n}"
                       : TILEFOLD_SUMS
                       : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "l"(right));
  else
    TILEFOLD_WARPGROUP(TILEFOLD_ADDED "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 " TILEFOLD_PLACES ", 1;\n}"
                       : TILEFOLD_SUMS
                       : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "l"(right));
#undef TILEFOLD_PLACES
#undef TILEFOLD_ADDED
#undef TILEFOLD_SUMS
#undef TILEFOLD_SUMS4
}

#undef TILEFOLD_WARPGROUP

#endif

__device__ inline void loadLeftSide(LeftSide& left, const float* channels, int pitch) {
  const int lane = static_cast<int>(threadIdx.x) % warpThreads;
  const float* const first = channels + lane % 4 * pitch + lane / 4;
  for (int k = 0; k < 4; ++k) left[k] = tf32Bits(first[k / 2 * 4 * pitch + k % 2 * 8]);
}

}  // namespace tilefold::cuda
