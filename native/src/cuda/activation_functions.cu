#include "activation_functions.hpp"
#include "element_loop.cuh"

namespace tilefold::cuda {
namespace {

constexpr float rootOfHalf = 0.70710678118654752F, densityAtZero = 0.39894228040143268F;

__device__ float sigmoid(float x) { return 1 / (1 + expf(-x)); }
// The normal distribution.
__device__ float cumulative(float x) { return 0.5F * (1 + erff(x * rootOfHalf)); }

struct Sigmoid {
  static __device__ float value(float x) { return sigmoid(x); }
  static __device__ float derivative(float y) { return y * (1 - y); }
};

struct Tanh {
  static __device__ float value(float x) { return tanhf(x); }
  static __device__ float derivative(float y) { return 1 - y * y; }
};

struct Silu {
  static __device__ float value(float x) { return x * sigmoid(x); }
  static __device__ float derivative(float x) {
    const float s = sigmoid(x);
    return s * (1 + x * (1 - s));
  }
};

struct Gelu {
  static __device__ float value(float x) { return x * cumulative(x); }
  static __device__ float derivative(float x) { return cumulative(x) + x * (densityAtZero * expf(-0.5F * x * x)); }
};

// visit(the function's type).
template <class Visit>
void withFunction(ActivationFunction function, const Visit& visit) {
  switch (function) {
    case ActivationFunction::sigmoid:
      return visit(Sigmoid{});
    case ActivationFunction::tanh:
      return visit(Tanh{});
    case ActivationFunction::silu:
      return visit(Silu{});
    case ActivationFunction::gelu:
      return visit(Gelu{});
  }
}

std::int64_t elements(const Tile& t) { return t.batch * t.channels * t.height * t.width; }

template <class Function, class T>
void forward(const Context& context, std::int64_t count, const T* source, T* destination) {
  forEachPack<T>(context, "activationForward", count, {source, destination}, [=] __device__(auto values, std::int64_t i) {
    values.load(source + i);
    for (int k = 0; k < values.width; ++k) values[k] = Function::value(values[k]);
    values.store(destination + i);
  });
}

template <class Function, class T>
void backward(const Context& context, std::int64_t count, const T* kept, const T* destinationGradient, T* sourceGradient) {
  forEachPack<T>(context, "activationBackward", count, {kept, destinationGradient, sourceGradient},
                 [=] __device__(auto values, std::int64_t i) {
                   auto gradient = values;
                   values.load(kept + i);
                   gradient.load(destinationGradient + i);
                   for (int k = 0; k < values.width; ++k) gradient[k] *= Function::derivative(values[k]);
                   gradient.store(sourceGradient + i);
                 });
}

}  // namespace

template <class T>
void activationForward(const Context& context, const tilefold::Activation& a, const T* source, T* destination) {
  withFunction(functionOf(a), [&](auto function) { forward<decltype(function)>(context, elements(a), source, destination); });
}

template <class T>
void activationBackward(const Context& context, const tilefold::Activation& a, const T* kept, const T* destinationGradient,
                        T* sourceGradient) {
  withFunction(functionOf(a),
               [&](auto function) { backward<decltype(function)>(context, elements(a), kept, destinationGradient, sourceGradient); });
}

#define TILEFOLD_INSTANTIATE(T)                                                                  \
  template void activationForward<T>(const Context&, const tilefold::Activation&, const T*, T*); \
  template void activationBackward<T>(const Context&, const tilefold::Activation&, const T*, const T*, T*);
TILEFOLD_INSTANTIATE(float)
TILEFOLD_INSTANTIATE(Bfloat16)
#undef TILEFOLD_INSTANTIATE

}  // namespace tilefold::cuda
