// Written by "npm run generate" from staging/kernels and dsl/expression.
#pragma once
#include "../expression.hpp"

namespace tilefold {

struct SigmoidForward {
  static constexpr double code[] = {0.0, 0.0, 0.0, 0.0, 0.0, 14.0, 0.0, 0.0, 0.0, 0.0};
  static TILEFOLD_HOST_DEVICE_INLINE float evaluate(float input, [[maybe_unused]] float gradient) {
    const float v0 = input;
    const float v1 = 1 / (1 + expf(-v0));
    return v1;
  }
};

struct SigmoidBackward {
  static constexpr double code[] = {0.0, 0.0, 0.0, 0.0, 0.0, 5.0, 1.0, 1.0, 0.0, 0.0, 16.0, 1.0, 1.0, 0.0, 0.0, 17.0, 1.0, 0.0, 1.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 17.0, 1.0, 0.0, 1.0, 0.0};
  static TILEFOLD_HOST_DEVICE_INLINE float evaluate(float input, [[maybe_unused]] float gradient) {
    const float v0 = input;
    const float v1 = static_cast<float>(1.0);
    const float v2 = v1 - v0;
    const float v3 = v0 * v2;
    const float v4 = gradient;
    const float v5 = v4 * v3;
    return v5;
  }
};

struct TanhForward {
  static constexpr double code[] = {0.0, 0.0, 0.0, 0.0, 0.0, 12.0, 0.0, 0.0, 0.0, 0.0};
  static TILEFOLD_HOST_DEVICE_INLINE float evaluate(float input, [[maybe_unused]] float gradient) {
    const float v0 = input;
    const float v1 = tanhf(v0);
    return v1;
  }
};

struct TanhBackward {
  static constexpr double code[] = {5.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 17.0, 1.0, 1.0, 1.0, 0.0, 16.0, 1.0, 0.0, 1.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 17.0, 1.0, 0.0, 1.0, 0.0};
  static TILEFOLD_HOST_DEVICE_INLINE float evaluate(float input, [[maybe_unused]] float gradient) {
    const float v0 = static_cast<float>(1.0);
    const float v1 = input;
    const float v2 = v1 * v1;
    const float v3 = v0 - v2;
    const float v4 = gradient;
    const float v5 = v4 * v3;
    return v5;
  }
};

struct SiluForward {
  static constexpr double code[] = {0.0, 0.0, 0.0, 0.0, 0.0, 14.0, 1.0, 0.0, 0.0, 0.0, 17.0, 1.0, 0.0, 1.0, 0.0};
  static TILEFOLD_HOST_DEVICE_INLINE float evaluate(float input, [[maybe_unused]] float gradient) {
    const float v0 = input;
    const float v1 = 1 / (1 + expf(-v0));
    const float v2 = v0 * v1;
    return v2;
  }
};

struct SiluBackward {
  static constexpr double code[] = {0.0, 0.0, 0.0, 0.0, 0.0, 5.0, 1.0, 1.0, 0.0, 0.0, 14.0, 2.0, 0.0, 0.0, 0.0, 16.0, 1.0, 1.0, 2.0, 0.0, 17.0, 1.0, 2.0, 1.0, 0.0, 17.0, 0.0, 1.0, 0.0, 0.0, 15.0, 0.0, 2.0, 0.0, 0.0, 2.0, 2.0, 0.0, 0.0, 0.0, 17.0, 0.0, 2.0, 0.0, 0.0};
  static TILEFOLD_HOST_DEVICE_INLINE float evaluate(float input, [[maybe_unused]] float gradient) {
    const float v0 = input;
    const float v1 = static_cast<float>(1.0);
    const float v2 = 1 / (1 + expf(-v0));
    const float v3 = v1 - v2;
    const float v4 = v2 * v3;
    const float v5 = v4 * v0;
    const float v6 = v2 + v5;
    const float v7 = gradient;
    const float v8 = v7 * v6;
    return v8;
  }
};

struct GeluForward {
  static constexpr double code[] = {0.0, 0.0, 0.0, 0.0, 0.0, 5.0, 1.0, 0.7071067811865476, 0.0, 0.0, 17.0, 1.0, 0.0, 1.0, 0.0, 13.0, 1.0, 1.0, 0.0, 0.0, 5.0, 2.0, 1.0, 0.0, 0.0, 15.0, 2.0, 1.0, 2.0, 0.0, 5.0, 1.0, 0.5, 0.0, 0.0, 17.0, 1.0, 2.0, 1.0, 0.0, 17.0, 1.0, 0.0, 1.0, 0.0};
  static TILEFOLD_HOST_DEVICE_INLINE float evaluate(float input, [[maybe_unused]] float gradient) {
    const float v0 = input;
    const float v1 = static_cast<float>(0.7071067811865476);
    const float v2 = v0 * v1;
    const float v3 = erff(v2);
    const float v4 = static_cast<float>(1.0);
    const float v5 = v3 + v4;
    const float v6 = static_cast<float>(0.5);
    const float v7 = v5 * v6;
    const float v8 = v0 * v7;
    return v8;
  }
};

struct GeluBackward {
  static constexpr double code[] = {0.0, 0.0, 0.0, 0.0, 0.0, 5.0, 1.0, 1.0, 0.0, 0.0, 5.0, 2.0, 0.7071067811865476, 0.0, 0.0, 17.0, 2.0, 2.0, 0.0, 0.0, 13.0, 3.0, 2.0, 0.0, 0.0, 17.0, 2.0, 2.0, 2.0, 0.0, 6.0, 2.0, 2.0, 0.0, 0.0, 7.0, 2.0, 2.0, 0.0, 0.0, 15.0, 1.0, 3.0, 1.0, 0.0, 5.0, 3.0, 0.5, 0.0, 0.0, 17.0, 1.0, 3.0, 1.0, 0.0, 5.0, 3.0, 0.3989422804014327, 0.0, 0.0, 17.0, 2.0, 3.0, 2.0, 0.0, 17.0, 0.0, 2.0, 0.0, 0.0, 15.0, 0.0, 1.0, 0.0, 0.0, 2.0, 1.0, 0.0, 0.0, 0.0, 17.0, 0.0, 1.0, 0.0, 0.0};
  static TILEFOLD_HOST_DEVICE_INLINE float evaluate(float input, [[maybe_unused]] float gradient) {
    const float v0 = input;
    const float v1 = static_cast<float>(1.0);
    const float v2 = static_cast<float>(0.7071067811865476);
    const float v3 = v2 * v0;
    const float v4 = erff(v3);
    const float v5 = v3 * v3;
    const float v6 = -v5;
    const float v7 = expf(v6);
    const float v8 = v4 + v1;
    const float v9 = static_cast<float>(0.5);
    const float v10 = v9 * v8;
    const float v11 = static_cast<float>(0.3989422804014327);
    const float v12 = v11 * v7;
    const float v13 = v12 * v0;
    const float v14 = v10 + v13;
    const float v15 = gradient;
    const float v16 = v15 * v14;
    return v16;
  }
};

#define TILEFOLD_EXPRESSIONS(visit) visit(SigmoidForward) visit(SigmoidBackward) visit(TanhForward) visit(TanhBackward) visit(SiluForward) visit(SiluBackward) visit(GeluForward) visit(GeluBackward)

}  // namespace tilefold
