// Copies of activations with another border, where cuDNN does not pad as it is asked to: its older
// interface pads alike on both sides only.
#pragma once
#include <cuda_runtime_api.h>

#include <cstdint>

#include "../../kernels/bfloat16.hpp"
#include "../../kernels/layout.hpp"

namespace tilefold::cuda {

// A tensor [batch, channels, height, width] and its padded copy [batch, channels, paddedHeight,
// paddedWidth], in which element (0, 0) lies at (top, left), which may be negative. The copy need
// not reach the tensor's last rows and columns. Layouts are plain or nhwc; of tensors that have one
// each, the channels are few. At most 2^31 - 1 elements each.
struct PadBox {
  Layout layout, paddedLayout;
  std::int64_t batch, channels, height, width, paddedHeight, paddedWidth, top, left;
};

// Enqueues: the padded copy of `source`, zero outside of it.
template <class T>
void padBox(cudaStream_t stream, const PadBox& box, const T* source, T* destination);

// Enqueues: the tensor out of its padded copy `source`; zero where that does not reach.
template <class T>
void cropBox(cudaStream_t stream, const PadBox& box, const T* source, T* destination);

}  // namespace tilefold::cuda
