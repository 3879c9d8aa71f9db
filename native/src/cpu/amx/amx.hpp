// The matrix registers of Intel's AMX: eight, of up to 16 rows of 64 bytes, each a thread's own. By
// the bytes of instructions, which assemblers before binutils 2.36 do not know; compilers before
// GCC 13 move stores past intrinsics that read them.
#pragma once
#include <array>
#include <cstdint>

#include "../vectors/constants.hpp"

#if defined(__x86_64__) && defined(__linux__)
#define TILEFOLD_AMX
#endif
#ifdef TILEFOLD_EMULATED_AMX
#include <cstring>
#endif

namespace tilefold::cpu::amx {

constexpr std::int64_t registerRows = 16, rowBytes = 64;
constexpr std::array<std::uint8_t, 8> wholeRows{rowBytes, rowBytes, rowBytes, rowBytes, rowBytes, rowBytes, rowBytes, rowBytes};

#ifdef TILEFOLD_EMULATED_AMX

struct Register {
  std::int64_t rows = 0, width = 0;
  alignas(64) std::array<std::array<std::uint8_t, rowBytes>, registerRows> bytes{};
};
inline thread_local std::array<Register, 8> registers;

class Registers {
 public:
  explicit Registers(const std::array<std::uint8_t, 8>& rows, const std::array<std::uint8_t, 8>& bytes = wholeRows) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      registers[i].rows = rows[i];
      registers[i].width = bytes[i];
    }
  }
  ~Registers() { registers = {}; }
  Registers(const Registers&) = delete;
  Registers& operator=(const Registers&) = delete;
};

template <int To>
void load(const void* first, std::int64_t stride) {
  Register& to = registers[To];
  to.bytes = {};
  for (std::int64_t row = 0; row < to.rows; ++row)
    std::memcpy(to.bytes[static_cast<std::size_t>(row)].data(), static_cast<const std::uint8_t*>(first) + row * stride,
                static_cast<std::size_t>(to.width));
}

template <int From>
void store(void* first, std::int64_t stride) {
  const Register& from = registers[From];
  for (std::int64_t row = 0; row < from.rows; ++row)
    std::memcpy(static_cast<std::uint8_t*>(first) + row * stride, from.bytes[static_cast<std::size_t>(row)].data(),
                static_cast<std::size_t>(from.width));
}

template <int To>
void zero() {
  registers[To].bytes = {};
}

// It touches registers alone, and is not watched, or it would take most of the tests' time. Of each
// word of two numbers the first, then the second.
template <int Sums, int Rows, int Columns>
__attribute__((no_sanitize("address"), no_sanitize("undefined"))) void multiply() {
  using Words = std::uint32_t __attribute__((vector_size(rowBytes)));
  using Floats = float __attribute__((vector_size(rowBytes)));
  const auto* left = reinterpret_cast<const std::uint32_t*>(&registers[Rows].bytes);
  const auto* right = reinterpret_cast<const Words*>(&registers[Columns].bytes);
  auto* sums = reinterpret_cast<Floats*>(&registers[Sums].bytes);
  for (std::int64_t row = 0; row < registers[Sums].rows; ++row)
    for (std::int64_t pair = 0; pair < registerRows; ++pair) {
      const Words ofRow = Words{} + left[row * registerRows + pair], ofColumns = right[pair];
      sums[row] += reinterpret_cast<Floats>(ofRow << 16) * reinterpret_cast<Floats>(ofColumns << 16);
      sums[row] += reinterpret_cast<Floats>(ofRow & 0xffff0000) * reinterpret_cast<Floats>(ofColumns & 0xffff0000);
    }
}

#elif defined(TILEFOLD_AMX)

// So many rows of each register, of so many bytes, are in use for as long as this lives. Afterwards
// the thread has none, as oneDNN leaves and finds them.
class Registers {
 public:
  explicit Registers(const std::array<std::uint8_t, 8>& rows, const std::array<std::uint8_t, 8>& bytes = wholeRows) {
    struct alignas(64) {
      std::uint8_t palette = 1, startRow = 0;
      std::array<std::uint8_t, 14> reserved{};
      std::array<std::uint16_t, 16> rowBytes{};
      std::array<std::uint8_t, 16> rows{};
    } configuration;
    static_assert(sizeof(configuration) == 64);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      configuration.rowBytes[i] = bytes[i];
      configuration.rows[i] = rows[i];
    }
    asm volatile(".byte 0xc4, 0xe2, 0x78, 0x49, 0x00" : : "a"(&configuration) : "memory");  // ldtilecfg (%rax)
  }
  ~Registers() { asm volatile(".byte 0xc4, 0xe2, 0x78, 0x49, 0xc0"); }  // tilerelease
  Registers(const Registers&) = delete;
  Registers& operator=(const Registers&) = delete;
};

// Rows that are `stride` bytes apart: tileloadd (%rax, %rcx), and tilestored.
template <int To>
void load(const void* first, std::int64_t stride) {
  asm volatile(".byte 0xc4, 0xe2, 0x7b, 0x4b, %c2, 0x08" : : "a"(first), "c"(stride), "i"(0x04 | To << 3) : "memory");
}
template <int From>
void store(void* first, std::int64_t stride) {
  asm volatile(".byte 0xc4, 0xe2, 0x7a, 0x4b, %c2, 0x08" : : "a"(first), "c"(stride), "i"(0x04 | From << 3) : "memory");
}

template <int To>
void zero() {
  asm volatile(".byte 0xc4, 0xe2, 0x7b, 0x49, %c0" : : "i"(0xc0 | To << 3));  // tilezero
}

// Sums [row][column] of float += Rows [row][32] of bf16 * Columns [pair of 32][column][2] of bf16;
// of fewer than 32 where rows have fewer bytes: tdpbf16ps.
template <int Sums, int Rows, int Columns>
void multiply() {
  asm volatile(".byte 0xc4, 0xe2, %c0, 0x5c, %c1" : : "i"((15 - Columns) << 3 | 2), "i"(0xc0 | Sums << 3 | Rows));
}

#else

// Never run: multipliesMatrices() of processor.hpp is false.
class Registers {
 public:
  explicit Registers(const std::array<std::uint8_t, 8>&, const std::array<std::uint8_t, 8>& = wholeRows) {}
};
template <int To>
void load(const void*, std::int64_t) {}
template <int From>
void store(void*, std::int64_t) {}
template <int To>
void zero() {}
template <int Sums, int Rows, int Columns>
void multiply() {}

#endif

// Sums of one register of rows or two by one of columns or two are registers 0 to 3.
constexpr int sumsAt(int row, int column) { return 2 * row + column; }

// each(register, row, column)
template <int Rows, int Columns, class Each>
void forSums(const Each& each) {
  forConstants<0, Rows>([&](auto row) {
    forConstants<0, Columns>(
        [&](auto column) { each(std::integral_constant<int, sumsAt(decltype(row)::value, decltype(column)::value)>{}, row, column); });
  });
}

// Adds to those sums what the other registers read: rows `stride` bytes apart, and columns
// that lie together. What is not the second of two is not read.
template <int Rows, int Columns>
void addProducts(const void* rows, const void* moreRows, std::int64_t stride, const void* columns, const void* moreColumns) {
  load<4>(rows, stride);
  load<6>(columns, rowBytes);
  multiply<sumsAt(0, 0), 4, 6>();
  if constexpr (Rows == 2) {
    load<5>(moreRows, stride);
    multiply<sumsAt(1, 0), 5, 6>();
  }
  if constexpr (Columns == 2) {
    load<7>(moreColumns, rowBytes);
    multiply<sumsAt(0, 1), 4, 7>();
    if constexpr (Rows == 2) multiply<sumsAt(1, 1), 5, 7>();
  }
}

}  // namespace tilefold::cpu::amx
