// Written by "npm run generate" from staging/kernels and dsl/expression.
#pragma once
#include "../kernels/expression.hpp"

namespace tilefold {

struct SigmoidForward {
  static constexpr double code[] = {0.0, 0.0, 0.0, 0.0, 0.0, 14.0, 0.0, 0.0, 0.0, 0.0};
  static TILEFOLD_HOST_DEVICE_INLINE float evaluate(float input, [[maybe_unused]] float gradient) {
    const float v0 = input;
    const float v1 = compute<Operation::sigmoid>(v0, 0.0F, 0.0F);
    return v1;
  }
};

struct SigmoidBackward {
  static constexpr double code[] = {0.0, 0.0, 0.0, 0.0, 0.0, 5.0, 1.0, 1.0, 0.0, 0.0, 17.0, 1.0, 1.0, 0.0, 0.0, 18.0, 1.0, 0.0, 1.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 18.0, 1.0, 0.0, 1.0, 0.0};
  static TILEFOLD_HOST_DEVICE_INLINE float evaluate(float input, [[maybe_unused]] float gradient) {
    const float v0 = input;
    const float v1 = static_cast<float>(1.0);
    const float v2 = compute<Operation::sub>(v1, v0, 0.0F);
    const float v3 = compute<Operation::mul>(v0, v2, 0.0F);
    const float v4 = gradient;
    const float v5 = compute<Operation::mul>(v4, v3, 0.0F);
    return v5;
  }
};

struct TanhForward {
  static constexpr double code[] = {0.0, 0.0, 0.0, 0.0, 0.0, 12.0, 0.0, 0.0, 0.0, 0.0};
  static TILEFOLD_HOST_DEVICE_INLINE float evaluate(float input, [[maybe_unused]] float gradient) {
    const float v0 = input;
    const float v1 = compute<Operation::tanh>(v0, 0.0F, 0.0F);
    return v1;
  }
};

struct TanhBackward {
  static constexpr double code[] = {5.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 18.0, 1.0, 1.0, 1.0, 0.0, 17.0, 1.0, 0.0, 1.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 18.0, 1.0, 0.0, 1.0, 0.0};
  static TILEFOLD_HOST_DEVICE_INLINE float evaluate(float input, [[maybe_unused]] float gradient) {
    const float v0 = static_cast<float>(1.0);
    const float v1 = input;
    const float v2 = compute<Operation::mul>(v1, v1, 0.0F);
    const float v3 = compute<Operation::sub>(v0, v2, 0.0F);
    const float v4 = gradient;
    const float v5 = compute<Operation::mul>(v4, v3, 0.0F);
    return v5;
  }
};

struct SiluForward {
  static constexpr double code[] = {0.0, 0.0, 0.0, 0.0, 0.0, 14.0, 1.0, 0.0, 0.0, 0.0, 18.0, 1.0, 0.0, 1.0, 0.0};
  static TILEFOLD_HOST_DEVICE_INLINE float evaluate(float input, [[maybe_unused]] float gradient) {
    const float v0 = input;
    const float v1 = compute<Operation::sigmoid>(v0, 0.0F, 0.0F);
    const float v2 = compute<Operation::mul>(v0, v1, 0.0F);
    return v2;
  }
};

struct SiluBackward {
  static constexpr double code[] = {0.0, 0.0, 0.0, 0.0, 0.0, 5.0, 1.0, 1.0, 0.0, 0.0, 14.0, 2.0, 0.0, 0.0, 0.0, 17.0, 1.0, 1.0, 2.0, 0.0, 18.0, 1.0, 2.0, 1.0, 0.0, 18.0, 0.0, 1.0, 0.0, 0.0, 16.0, 0.0, 2.0, 0.0, 0.0, 2.0, 2.0, 0.0, 0.0, 0.0, 18.0, 0.0, 2.0, 0.0, 0.0};
  static TILEFOLD_HOST_DEVICE_INLINE float evaluate(float input, [[maybe_unused]] float gradient) {
    const float v0 = input;
    const float v1 = static_cast<float>(1.0);
    const float v2 = compute<Operation::sigmoid>(v0, 0.0F, 0.0F);
    const float v3 = compute<Operation::sub>(v1, v2, 0.0F);
    const float v4 = compute<Operation::mul>(v2, v3, 0.0F);
    const float v5 = compute<Operation::mul>(v4, v0, 0.0F);
    const float v6 = compute<Operation::add>(v2, v5, 0.0F);
    const float v7 = gradient;
    const float v8 = compute<Operation::mul>(v7, v6, 0.0F);
    return v8;
  }
};

struct GeluForward {
  static constexpr double code[] = {0.0, 0.0, 0.0, 0.0, 0.0, 5.0, 1.0, 0.7071067811865476, 0.0, 0.0, 18.0, 1.0, 0.0, 1.0, 0.0, 13.0, 1.0, 1.0, 0.0, 0.0, 5.0, 2.0, 1.0, 0.0, 0.0, 16.0, 2.0, 1.0, 2.0, 0.0, 5.0, 1.0, 0.5, 0.0, 0.0, 18.0, 1.0, 2.0, 1.0, 0.0, 18.0, 1.0, 0.0, 1.0, 0.0};
  static TILEFOLD_HOST_DEVICE_INLINE float evaluate(float input, [[maybe_unused]] float gradient) {
    const float v0 = input;
    const float v1 = static_cast<float>(0.7071067811865476);
    const float v2 = compute<Operation::mul>(v0, v1, 0.0F);
    const float v3 = compute<Operation::erf>(v2, 0.0F, 0.0F);
    const float v4 = static_cast<float>(1.0);
    const float v5 = compute<Operation::add>(v3, v4, 0.0F);
    const float v6 = static_cast<float>(0.5);
    const float v7 = compute<Operation::mul>(v5, v6, 0.0F);
    const float v8 = compute<Operation::mul>(v0, v7, 0.0F);
    return v8;
  }
};

struct GeluBackward {
  static constexpr double code[] = {0.0, 0.0, 0.0, 0.0, 0.0, 5.0, 1.0, 1.0, 0.0, 0.0, 5.0, 2.0, 0.7071067811865476, 0.0, 0.0, 18.0, 2.0, 2.0, 0.0, 0.0, 13.0, 3.0, 2.0, 0.0, 0.0, 18.0, 2.0, 2.0, 2.0, 0.0, 6.0, 2.0, 2.0, 0.0, 0.0, 7.0, 2.0, 2.0, 0.0, 0.0, 16.0, 1.0, 3.0, 1.0, 0.0, 5.0, 3.0, 0.5, 0.0, 0.0, 18.0, 1.0, 3.0, 1.0, 0.0, 5.0, 3.0, 0.3989422804014327, 0.0, 0.0, 18.0, 2.0, 3.0, 2.0, 0.0, 18.0, 0.0, 2.0, 0.0, 0.0, 16.0, 0.0, 1.0, 0.0, 0.0, 2.0, 1.0, 0.0, 0.0, 0.0, 18.0, 0.0, 1.0, 0.0, 0.0};
  static TILEFOLD_HOST_DEVICE_INLINE float evaluate(float input, [[maybe_unused]] float gradient) {
    const float v0 = input;
    const float v1 = static_cast<float>(1.0);
    const float v2 = static_cast<float>(0.7071067811865476);
    const float v3 = compute<Operation::mul>(v2, v0, 0.0F);
    const float v4 = compute<Operation::erf>(v3, 0.0F, 0.0F);
    const float v5 = compute<Operation::mul>(v3, v3, 0.0F);
    const float v6 = compute<Operation::neg>(v5, 0.0F, 0.0F);
    const float v7 = compute<Operation::exp>(v6, 0.0F, 0.0F);
    const float v8 = compute<Operation::add>(v4, v1, 0.0F);
    const float v9 = static_cast<float>(0.5);
    const float v10 = compute<Operation::mul>(v9, v8, 0.0F);
    const float v11 = static_cast<float>(0.3989422804014327);
    const float v12 = compute<Operation::mul>(v11, v7, 0.0F);
    const float v13 = compute<Operation::mul>(v12, v0, 0.0F);
    const float v14 = compute<Operation::add>(v10, v13, 0.0F);
    const float v15 = gradient;
    const float v16 = compute<Operation::mul>(v15, v14, 0.0F);
    return v16;
  }
};

struct HardswishForward {
  static constexpr double code[] = {5.0, 0.0, 3.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 23.0, 2.0, 0.0, 1.0, 0.0, 5.0, 3.0, -3.0, 0.0, 0.0, 23.0, 3.0, 1.0, 3.0, 0.0, 5.0, 4.0, 0.0, 0.0, 0.0, 18.0, 4.0, 1.0, 4.0, 0.0, 15.0, 4.0, 4.0, 0.0, 0.0, 16.0, 0.0, 1.0, 0.0, 0.0, 18.0, 0.0, 1.0, 0.0, 0.0, 5.0, 5.0, 6.0, 0.0, 0.0, 19.0, 5.0, 0.0, 5.0, 0.0, 24.0, 5.0, 3.0, 4.0, 5.0, 24.0, 5.0, 2.0, 1.0, 5.0};
  static TILEFOLD_HOST_DEVICE_INLINE float evaluate(float input, [[maybe_unused]] float gradient) {
    const float v0 = static_cast<float>(3.0);
    const float v1 = input;
    const float v2 = compute<Operation::lessEqual>(v0, v1, 0.0F);
    const float v3 = static_cast<float>(-3.0);
    const float v4 = compute<Operation::lessEqual>(v1, v3, 0.0F);
    const float v5 = static_cast<float>(0.0);
    const float v6 = compute<Operation::mul>(v1, v5, 0.0F);
    const float v7 = compute<Operation::detach>(v6, 0.0F, 0.0F);
    const float v8 = compute<Operation::add>(v1, v0, 0.0F);
    const float v9 = compute<Operation::mul>(v1, v8, 0.0F);
    const float v10 = static_cast<float>(6.0);
    const float v11 = compute<Operation::div>(v9, v10, 0.0F);
    const float v12 = compute<Operation::where>(v4, v7, v11);
    const float v13 = compute<Operation::where>(v2, v1, v12);
    return v13;
  }
};

struct HardswishBackward {
  static constexpr double code[] = {5.0, 0.0, 3.0, 0.0, 0.0, 5.0, 1.0, 0.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 5.0, 3.0, 1.0, 0.0, 0.0, 23.0, 4.0, 0.0, 2.0, 0.0, 5.0, 5.0, -3.0, 0.0, 0.0, 23.0, 5.0, 2.0, 5.0, 0.0, 16.0, 0.0, 2.0, 0.0, 0.0, 16.0, 2.0, 0.0, 2.0, 0.0, 5.0, 0.0, 6.0, 0.0, 0.0, 19.0, 0.0, 2.0, 0.0, 0.0, 24.0, 0.0, 5.0, 1.0, 0.0, 24.0, 0.0, 4.0, 3.0, 0.0, 2.0, 3.0, 0.0, 0.0, 0.0, 18.0, 0.0, 3.0, 0.0, 0.0};
  static TILEFOLD_HOST_DEVICE_INLINE float evaluate(float input, [[maybe_unused]] float gradient) {
    const float v0 = static_cast<float>(3.0);
    const float v1 = static_cast<float>(0.0);
    const float v2 = input;
    const float v3 = static_cast<float>(1.0);
    const float v4 = compute<Operation::lessEqual>(v0, v2, 0.0F);
    const float v5 = static_cast<float>(-3.0);
    const float v6 = compute<Operation::lessEqual>(v2, v5, 0.0F);
    const float v7 = compute<Operation::add>(v2, v0, 0.0F);
    const float v8 = compute<Operation::add>(v7, v2, 0.0F);
    const float v9 = static_cast<float>(6.0);
    const float v10 = compute<Operation::div>(v8, v9, 0.0F);
    const float v11 = compute<Operation::where>(v6, v1, v10);
    const float v12 = compute<Operation::where>(v4, v3, v11);
    const float v13 = gradient;
    const float v14 = compute<Operation::mul>(v13, v12, 0.0F);
    return v14;
  }
};

struct Relu6Forward {
  static constexpr double code[] = {5.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 22.0, 2.0, 0.0, 1.0, 0.0, 5.0, 3.0, 6.0, 0.0, 0.0, 22.0, 4.0, 1.0, 3.0, 0.0, 21.0, 0.0, 1.0, 0.0, 0.0, 20.0, 3.0, 0.0, 3.0, 0.0, 15.0, 3.0, 3.0, 0.0, 0.0, 24.0, 1.0, 4.0, 1.0, 3.0, 24.0, 3.0, 2.0, 1.0, 3.0};
  static TILEFOLD_HOST_DEVICE_INLINE float evaluate(float input, [[maybe_unused]] float gradient) {
    const float v0 = static_cast<float>(0.0);
    const float v1 = input;
    const float v2 = compute<Operation::less>(v0, v1, 0.0F);
    const float v3 = static_cast<float>(6.0);
    const float v4 = compute<Operation::less>(v1, v3, 0.0F);
    const float v5 = compute<Operation::maximum>(v1, v0, 0.0F);
    const float v6 = compute<Operation::minimum>(v5, v3, 0.0F);
    const float v7 = compute<Operation::detach>(v6, 0.0F, 0.0F);
    const float v8 = compute<Operation::where>(v4, v1, v7);
    const float v9 = compute<Operation::where>(v2, v8, v7);
    return v9;
  }
};

struct Relu6Backward {
  static constexpr double code[] = {5.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 5.0, 2.0, 1.0, 0.0, 0.0, 22.0, 3.0, 0.0, 1.0, 0.0, 5.0, 4.0, 6.0, 0.0, 0.0, 22.0, 4.0, 1.0, 4.0, 0.0, 24.0, 2.0, 4.0, 2.0, 0.0, 24.0, 0.0, 3.0, 2.0, 0.0, 2.0, 2.0, 0.0, 0.0, 0.0, 18.0, 0.0, 2.0, 0.0, 0.0};
  static TILEFOLD_HOST_DEVICE_INLINE float evaluate(float input, [[maybe_unused]] float gradient) {
    const float v0 = static_cast<float>(0.0);
    const float v1 = input;
    const float v2 = static_cast<float>(1.0);
    const float v3 = compute<Operation::less>(v0, v1, 0.0F);
    const float v4 = static_cast<float>(6.0);
    const float v5 = compute<Operation::less>(v1, v4, 0.0F);
    const float v6 = compute<Operation::where>(v5, v2, v0);
    const float v7 = compute<Operation::where>(v3, v6, v0);
    const float v8 = gradient;
    const float v9 = compute<Operation::mul>(v8, v7, 0.0F);
    return v9;
  }
};

struct HardsigmoidForward {
  static constexpr double code[] = {5.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 5.0, 2.0, 3.0, 0.0, 0.0, 16.0, 2.0, 1.0, 2.0, 0.0, 22.0, 1.0, 0.0, 2.0, 0.0, 5.0, 3.0, 6.0, 0.0, 0.0, 22.0, 4.0, 2.0, 3.0, 0.0, 21.0, 0.0, 2.0, 0.0, 0.0, 20.0, 0.0, 0.0, 3.0, 0.0, 15.0, 0.0, 0.0, 0.0, 0.0, 24.0, 2.0, 4.0, 2.0, 0.0, 24.0, 0.0, 1.0, 2.0, 0.0, 19.0, 3.0, 0.0, 3.0, 0.0};
  static TILEFOLD_HOST_DEVICE_INLINE float evaluate(float input, [[maybe_unused]] float gradient) {
    const float v0 = static_cast<float>(0.0);
    const float v1 = input;
    const float v2 = static_cast<float>(3.0);
    const float v3 = compute<Operation::add>(v1, v2, 0.0F);
    const float v4 = compute<Operation::less>(v0, v3, 0.0F);
    const float v5 = static_cast<float>(6.0);
    const float v6 = compute<Operation::less>(v3, v5, 0.0F);
    const float v7 = compute<Operation::maximum>(v3, v0, 0.0F);
    const float v8 = compute<Operation::minimum>(v7, v5, 0.0F);
    const float v9 = compute<Operation::detach>(v8, 0.0F, 0.0F);
    const float v10 = compute<Operation::where>(v6, v3, v9);
    const float v11 = compute<Operation::where>(v4, v10, v9);
    const float v12 = compute<Operation::div>(v11, v5, 0.0F);
    return v12;
  }
};

struct HardsigmoidBackward {
  static constexpr double code[] = {5.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 5.0, 2.0, 1.0, 0.0, 0.0, 5.0, 3.0, 3.0, 0.0, 0.0, 16.0, 3.0, 1.0, 3.0, 0.0, 22.0, 1.0, 0.0, 3.0, 0.0, 5.0, 4.0, 6.0, 0.0, 0.0, 22.0, 3.0, 3.0, 4.0, 0.0, 24.0, 2.0, 3.0, 2.0, 0.0, 24.0, 0.0, 1.0, 2.0, 0.0, 19.0, 4.0, 0.0, 4.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 18.0, 4.0, 0.0, 4.0, 0.0};
  static TILEFOLD_HOST_DEVICE_INLINE float evaluate(float input, [[maybe_unused]] float gradient) {
    const float v0 = static_cast<float>(0.0);
    const float v1 = input;
    const float v2 = static_cast<float>(1.0);
    const float v3 = static_cast<float>(3.0);
    const float v4 = compute<Operation::add>(v1, v3, 0.0F);
    const float v5 = compute<Operation::less>(v0, v4, 0.0F);
    const float v6 = static_cast<float>(6.0);
    const float v7 = compute<Operation::less>(v4, v6, 0.0F);
    const float v8 = compute<Operation::where>(v7, v2, v0);
    const float v9 = compute<Operation::where>(v5, v8, v0);
    const float v10 = compute<Operation::div>(v9, v6, 0.0F);
    const float v11 = gradient;
    const float v12 = compute<Operation::mul>(v11, v10, 0.0F);
    return v12;
  }
};

#define TILEFOLD_EXPRESSIONS(visit) visit(SigmoidForward) visit(SigmoidBackward) visit(TanhForward) visit(TanhBackward) visit(SiluForward) visit(SiluBackward) visit(GeluForward) visit(GeluBackward) visit(HardswishForward) visit(HardswishBackward) visit(Relu6Forward) visit(Relu6Backward) visit(HardsigmoidForward) visit(HardsigmoidBackward)

}  // namespace tilefold
