// The matrix registers of Intel's AMX: eight, of up to 16 rows of 64 bytes, each a thread's own. By
// assembly, since compilers before GCC 13 move stores past the intrinsics that read them.
#pragma once
#include <array>
#include <cstdint>
#ifdef TILEFOLD_EMULATED_AMX
#include <cstring>

#include "../kernels/bfloat16.hpp"
#endif

namespace tilefold::cpu::amx {

constexpr std::int64_t registerRows = 16, rowBytes = 64;
constexpr std::array<std::uint8_t, 8> wholeRows{rowBytes, rowBytes, rowBytes, rowBytes, rowBytes, rowBytes, rowBytes, rowBytes};

#ifdef TILEFOLD_EMULATED_AMX

struct Register {
  std::int64_t rows = 0, rowBytes = 0;
  std::array<std::array<std::uint8_t, rowBytes>, registerRows> bytes{};
};
inline thread_local std::array<Register, 8> registers;

class Registers {
 public:
  explicit Registers(const std::array<std::uint8_t, 8>& rows, const std::array<std::uint8_t, 8>& bytes = wholeRows) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      registers[i].rows = rows[i];
      registers[i].rowBytes = bytes[i];
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
                static_cast<std::size_t>(to.rowBytes));
}

template <int From>
void store(void* first, std::int64_t stride) {
  const Register& from = registers[From];
  for (std::int64_t row = 0; row < from.rows; ++row)
    std::memcpy(static_cast<std::uint8_t*>(first) + row * stride, from.bytes[static_cast<std::size_t>(row)].data(),
                static_cast<std::size_t>(from.rowBytes));
}

template <int To>
void zero() {
  registers[To].bytes = {};
}

template <int Sums, int Rows, int Columns>
void multiply() {
  const auto halvesAt = [](const Register& from, std::int64_t row) {
    std::array<Bfloat16, rowBytes / 2> halves;
    std::memcpy(static_cast<void*>(halves.data()), from.bytes[static_cast<std::size_t>(row)].data(), rowBytes);
    return halves;
  };
  for (std::int64_t row = 0; row < registers[Sums].rows; ++row) {
    std::array<float, registerRows> sums;
    auto& bytes = registers[Sums].bytes[static_cast<std::size_t>(row)];
    std::memcpy(sums.data(), bytes.data(), rowBytes);
    const auto left = halvesAt(registers[Rows], row);
    for (std::size_t pair = 0; pair < registerRows; ++pair) {
      const auto right = halvesAt(registers[Columns], static_cast<std::int64_t>(pair));
      for (std::size_t column = 0; column < registerRows; ++column)
        for (std::size_t i = 0; i < 2; ++i)
          sums[column] += static_cast<float>(left[2 * pair + i]) * static_cast<float>(right[2 * column + i]);
    }
    std::memcpy(bytes.data(), sums.data(), rowBytes);
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
    asm volatile("ldtilecfg %0" : : "m"(configuration));
  }
  ~Registers() { asm volatile("tilerelease"); }
  Registers(const Registers&) = delete;
  Registers& operator=(const Registers&) = delete;
};

// Rows that are `stride` bytes apart.
template <int To>
void load(const void* first, std::int64_t stride) {
  asm volatile("tileloadd (%0,%1,1), %%tmm%c2" : : "r"(first), "r"(stride), "i"(To) : "memory");
}
template <int From>
void store(void* first, std::int64_t stride) {
  asm volatile("tilestored %%tmm%c2, (%0,%1,1)" : : "r"(first), "r"(stride), "i"(From) : "memory");
}

template <int To>
void zero() {
  asm volatile("tilezero %%tmm%c0" : : "i"(To));
}

// Sums [row][column] of float += Rows [row][32] of bf16 * Columns [pair of 32][column][2] of bf16;
// of fewer than 32 where rows have fewer bytes.
template <int Sums, int Rows, int Columns>
void multiply() {
  asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(Sums), "i"(Rows), "i"(Columns));
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

}  // namespace tilefold::cpu::amx
