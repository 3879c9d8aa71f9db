// What oneDNN is asked for here: convolutions in float32 and bf16 by kernels that it compiles when
// it runs. In place of its own lists, which name every implementation of every primitive and so
// link them all: a twentieth of the code, compiled in a tenth of the time. The order is that of
// cpu_convolution_list.cpp. Where nothing fits: "unimplemented", as where only a slow reference
// would.
#include "common/impl_list_item.hpp"
#include "cpu/cpu_engine.hpp"
#include "cpu/x64/jit_avx2_1x1_convolution.hpp"
#include "cpu/x64/jit_avx2_convolution.hpp"
#include "cpu/x64/jit_avx512_common_1x1_convolution.hpp"
#include "cpu/x64/jit_avx512_common_convolution.hpp"
#include "cpu/x64/jit_avx512_core_bf16_1x1_convolution.hpp"
#include "cpu/x64/jit_avx512_core_bf16_convolution.hpp"
#include "cpu/x64/jit_uni_dw_convolution.hpp"

namespace dnnl {
namespace impl {
namespace cpu {
namespace {

using namespace x64;
using data_type::bf16;
using data_type::f32;

const impl_list_item_t nothing[] = {nullptr};

const impl_list_item_t forward[] = {
    CPU_INSTANCE(jit_avx512_common_dw_convolution_fwd_t) CPU_INSTANCE(jit_avx512_common_1x1_convolution_fwd_f32_t) CPU_INSTANCE(
        jit_avx512_common_convolution_fwd_t<f32>) CPU_INSTANCE(jit_avx2_dw_convolution_fwd_t) CPU_INSTANCE(jit_avx2_1x1_convolution_fwd_t)
        CPU_INSTANCE(jit_avx2_convolution_fwd_t) nullptr};

const impl_list_item_t backwardData[] = {CPU_INSTANCE(jit_avx512_common_dw_convolution_bwd_data_t) CPU_INSTANCE(
    jit_avx512_common_1x1_convolution_bwd_data_f32_t) CPU_INSTANCE(jit_avx512_common_convolution_bwd_data_t<f32>)
                                             CPU_INSTANCE(jit_avx2_dw_convolution_bwd_data_t) CPU_INSTANCE(
                                                 jit_avx2_1x1_convolution_bwd_data_t) CPU_INSTANCE(jit_avx2_convolution_bwd_data_t) nullptr};

const impl_list_item_t backwardWeights[] = {
    CPU_INSTANCE(jit_avx512_common_dw_convolution_bwd_weights_t) CPU_INSTANCE(jit_avx512_common_1x1_convolution_bwd_weights_t)
        CPU_INSTANCE(jit_avx512_common_convolution_bwd_weights_t<f32>) CPU_INSTANCE(jit_avx2_dw_convolution_bwd_weights_t)
            CPU_INSTANCE(jit_avx2_1x1_convolution_bwd_weights_t) CPU_INSTANCE(jit_avx2_convolution_bwd_weights_t) nullptr};

const impl_list_item_t forwardBf16[] = {CPU_INSTANCE(jit_uni_dw_convolution_fwd_t<avx512_core, bf16, bf16>) CPU_INSTANCE(
    jit_avx512_core_bf16_1x1_convolution_fwd_t<bf16>) CPU_INSTANCE(jit_avx512_core_bf16_convolution_fwd_t) nullptr};

const impl_list_item_t backwardDataBf16[] = {CPU_INSTANCE(jit_uni_dw_convolution_bwd_data_t<avx512_core, bf16, bf16>) CPU_INSTANCE(
    jit_avx512_core_bf16_1x1_convolution_bwd_data_t<bf16>) CPU_INSTANCE(jit_avx512_core_bf16_convolution_bwd_data_t) nullptr};

// Gradients of weights are float.
const impl_list_item_t backwardWeightsBf16[] = {CPU_INSTANCE(jit_uni_dw_convolution_bwd_weights_t<avx512_core, bf16, f32>) CPU_INSTANCE(
    jit_avx512_core_bf16_1x1_convolution_bwd_weights_t<f32>) CPU_INSTANCE(jit_avx512_core_bf16_convolution_bwd_weights_t) nullptr};

}  // namespace

const impl_list_item_t* get_convolution_impl_list(const convolution_desc_t* convolution) {
  const bool isBackwardData = convolution->prop_kind == prop_kind::backward_data;
  const data_type_t type = (isBackwardData ? convolution->diff_src_desc : convolution->src_desc).data_type;
  if (type != f32 && type != bf16) return nothing;
  switch (convolution->prop_kind) {
    case prop_kind::forward_training:
    case prop_kind::forward_inference:
      return type == f32 ? forward : forwardBf16;
    case prop_kind::backward_data:
      return type == f32 ? backwardData : backwardDataBf16;
    case prop_kind::backward_weights:
      return type == f32 ? backwardWeights : backwardWeightsBf16;
    default:
      return nothing;
  }
}

#define TILEFOLD_NONE(primitive) \
  const impl_list_item_t* get_##primitive##_impl_list(const primitive##_desc_t*) { return nothing; }
TILEFOLD_NONE(batch_normalization)
TILEFOLD_NONE(binary)
TILEFOLD_NONE(deconvolution)
TILEFOLD_NONE(eltwise)
TILEFOLD_NONE(group_normalization)
TILEFOLD_NONE(inner_product)
TILEFOLD_NONE(layer_normalization)
TILEFOLD_NONE(lrn)
TILEFOLD_NONE(matmul)
TILEFOLD_NONE(pooling)
TILEFOLD_NONE(prelu)
TILEFOLD_NONE(reduction)
TILEFOLD_NONE(resampling)
TILEFOLD_NONE(rnn)
TILEFOLD_NONE(shuffle)
TILEFOLD_NONE(softmax)

const impl_list_item_t* cpu_engine_impl_list_t::get_concat_implementation_list() { return nothing; }
const impl_list_item_t* cpu_engine_impl_list_t::get_sum_implementation_list() { return nothing; }
const impl_list_item_t* cpu_engine_impl_list_t::get_reorder_implementation_list(const memory_desc_t*, const memory_desc_t*) { return nothing; }

}  // namespace cpu
}  // namespace impl
}  // namespace dnnl
