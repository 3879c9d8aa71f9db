// What a GPU's multiprocessor computes in a cycle, by its compute capability.
#pragma once
#include <string>

namespace tilefold::cuda {

// Multiply-adds in float32, and how many times as many tensor cores do that add in float32.
struct CardRates {
  double lanes, tf32, bf16;
};

// float32: CUDA C++ Programming Guide, throughput of native arithmetic instructions. Tensor cores:
// dense rates of NVIDIA's data sheets by those of float32, of A100, A40 and L40S, H100, B200 and
// RTX PRO 6000 Blackwell. What is newer than all of these is taken for a workstation's card.
inline CardRates cardRates(int major, int minor, const std::string& name) {
  const bool dataCentre = (major == 8 && minor == 0) || major == 9, blackwell = major == 10;
  const double lanes = major < 8 || (major == 8 && minor == 0) ? 64 : 128;
  if (dataCentre) return {lanes, 8, 16};
  if (blackwell) return {lanes, 16, 32};
  // GeForce cards add in float32 at half the rate of workstations' cards of the same chip.
  if (name.find("GeForce") != std::string::npos) return {lanes, 1, 2};
  return {lanes, 2, 4};
}

}  // namespace tilefold::cuda
