// Compiles only if what cudnn_api.hpp, cublas_api.hpp and nccl_api.hpp of src/cuda/libraries
// declare is what the real headers say; built where they are found, of NCCL's where it is among
// them.
#include <cublas_v2.h>
#include <cudnn.h>

#if __has_include(<nccl.h>)
#include <nccl.h>
#define TILEFOLD_HAS_NCCL 1
#endif

#include <cstddef>
#include <type_traits>

#include "../src/cuda/libraries/cublas_api.hpp"
#include "../src/cuda/libraries/cudnn_graph_api.hpp"
#include "../src/cuda/libraries/nccl_api.hpp"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace {

namespace cudnn = tilefold::cuda::cudnn;
namespace cublas = tilefold::cuda::cublas;
namespace nccl = tilefold::cuda::nccl;

// What a type of ours is in the real headers: itself, the other of a pair below, or a pointer to
// such or a function of such.
template <class Ours>
struct Their {
  using Type = Ours;
};
template <class Ours>
struct Their<const Ours> {
  using Type = const typename Their<Ours>::Type;
};
template <class Ours>
struct Their<Ours*> {
  using Type = typename Their<Ours>::Type*;
};
template <class Result, class... Arguments>
struct Their<Result(Arguments...)> {
  using Type = typename Their<Result>::Type(typename Their<Arguments>::Type...);
};
template <class Ours>
using TheirOf = typename Their<Ours>::Type;

#define TILEFOLD_PAIR(ours, theirs) \
  template <>                       \
  struct Their<ours> {              \
    using Type = theirs;            \
  };
TILEFOLD_PAIR(cudnn::Handle, cudnnHandle_t)
TILEFOLD_PAIR(cudnn::TensorDescriptor, cudnnTensorDescriptor_t)
TILEFOLD_PAIR(cudnn::FilterDescriptor, cudnnFilterDescriptor_t)
TILEFOLD_PAIR(cudnn::ConvolutionDescriptor, cudnnConvolutionDescriptor_t)
TILEFOLD_PAIR(cublas::Handle, cublasHandle_t)
#ifdef TILEFOLD_HAS_NCCL
TILEFOLD_PAIR(nccl::Communicator, ncclComm_t)
TILEFOLD_PAIR(nccl::UniqueId, ncclUniqueId)
TILEFOLD_PAIR(nccl::Config, ncclConfig_t)
#endif
#undef TILEFOLD_PAIR

#define TILEFOLD_PAIR(ours, theirs)                                          \
  template <>                                                                \
  struct Their<ours> {                                                       \
    static_assert(std::is_enum_v<theirs> && sizeof(ours) == sizeof(theirs)); \
    using Type = theirs;                                                     \
  };
TILEFOLD_PAIR(cudnn::Status, cudnnStatus_t)
TILEFOLD_PAIR(cudnn::DataType, cudnnDataType_t)
TILEFOLD_PAIR(cudnn::TensorFormat, cudnnTensorFormat_t)
TILEFOLD_PAIR(cudnn::ConvolutionMode, cudnnConvolutionMode_t)
TILEFOLD_PAIR(cudnn::MathType, cudnnMathType_t)
TILEFOLD_PAIR(cudnn::Determinism, cudnnDeterminism_t)
TILEFOLD_PAIR(cudnn::ForwardAlgorithm, cudnnConvolutionFwdAlgo_t)
TILEFOLD_PAIR(cudnn::BackwardDataAlgorithm, cudnnConvolutionBwdDataAlgo_t)
TILEFOLD_PAIR(cudnn::BackwardFilterAlgorithm, cudnnConvolutionBwdFilterAlgo_t)
TILEFOLD_PAIR(cudnn::DescriptorType, cudnnBackendDescriptorType_t)
TILEFOLD_PAIR(cudnn::AttributeType, cudnnBackendAttributeType_t)
TILEFOLD_PAIR(cudnn::Attribute, cudnnBackendAttributeName_t)
TILEFOLD_PAIR(cudnn::HeuristicMode, cudnnBackendHeurMode_t)
TILEFOLD_PAIR(cudnn::NumericalNote, cudnnBackendNumericalNote_t)
TILEFOLD_PAIR(cudnn::BehaviourNote, cudnnBackendBehaviorNote_t)
TILEFOLD_PAIR(cublas::Status, cublasStatus_t)
TILEFOLD_PAIR(cublas::MathMode, cublasMath_t)
TILEFOLD_PAIR(cublas::DataType, cudaDataType)
TILEFOLD_PAIR(cublas::ComputeType, cublasComputeType_t)
TILEFOLD_PAIR(cublas::GemmAlgorithm, cublasGemmAlgo_t)
TILEFOLD_PAIR(cublas::Operation, cublasOperation_t)
#ifdef TILEFOLD_HAS_NCCL
TILEFOLD_PAIR(nccl::Result, ncclResult_t)
TILEFOLD_PAIR(nccl::DataType, ncclDataType_t)
#endif
#undef TILEFOLD_PAIR

#define TILEFOLD_FIELD(ours, theirs) \
  (offsetof(Ours, ours) == offsetof(Theirs, theirs) && std::is_same_v<TheirOf<decltype(Ours::ours)>, decltype(Theirs::theirs)>)
template <class Ours, class Theirs>
constexpr bool performanceFits = sizeof(Ours) == sizeof(Theirs) && TILEFOLD_FIELD(algorithm, algo) && TILEFOLD_FIELD(status, status) &&
                                 TILEFOLD_FIELD(milliseconds, time) && TILEFOLD_FIELD(workspaceBytes, memory) &&
                                 TILEFOLD_FIELD(determinism, determinism) && TILEFOLD_FIELD(math, mathType);
#undef TILEFOLD_FIELD
#define TILEFOLD_PAIR(ours, theirs)                                   \
  template <>                                                         \
  struct Their<cudnn::Performance<ours>> {                            \
    static_assert(performanceFits<cudnn::Performance<ours>, theirs>); \
    using Type = theirs;                                              \
  };
TILEFOLD_PAIR(cudnn::ForwardAlgorithm, cudnnConvolutionFwdAlgoPerf_t)
TILEFOLD_PAIR(cudnn::BackwardDataAlgorithm, cudnnConvolutionBwdDataAlgoPerf_t)
TILEFOLD_PAIR(cudnn::BackwardFilterAlgorithm, cudnnConvolutionBwdFilterAlgoPerf_t)
#undef TILEFOLD_PAIR

#ifdef TILEFOLD_HAS_NCCL
#define TILEFOLD_CHECK(name, result, arguments) static_assert(sizeof(static_cast<TheirOf<decltype(nccl::Api::name)>>(&::name)) > 0);
TILEFOLD_NCCL_FUNCTIONS(TILEFOLD_CHECK)
#undef TILEFOLD_CHECK
static_assert(sizeof(nccl::UniqueId) == sizeof(ncclUniqueId));
static_assert(offsetof(nccl::Config, blocking) == offsetof(ncclConfig_t, blocking) && sizeof(nccl::Config) <= sizeof(ncclConfig_t));
static_assert(nccl::Config{}.magic == NCCL_API_MAGIC && nccl::Config{}.version == NCCL_VERSION(2, 14, 0));
static_assert(static_cast<int>(nccl::Result::success) == ncclSuccess && static_cast<int>(nccl::Result::inProgress) == ncclInProgress);
static_assert(static_cast<int>(nccl::DataType::uint8) == ncclUint8 && nccl::Config{}.unused == NCCL_CONFIG_UNDEF_INT);
#endif

// No such cast compiles where ours has another signature. (C++ has a second cublasGemmEx, for
// callers of old versions.)
#define TILEFOLD_CHECK(name, result, arguments) static_assert(sizeof(static_cast<TheirOf<decltype(cudnn::Api::name)>>(&::name)) > 0);
TILEFOLD_CUDNN_FUNCTIONS(TILEFOLD_CHECK)
TILEFOLD_CUDNN_GRAPH_FUNCTIONS(TILEFOLD_CHECK)
#undef TILEFOLD_CHECK
#define TILEFOLD_CHECK(name, result, arguments) static_assert(sizeof(static_cast<TheirOf<decltype(cublas::Api::name)>>(&::name)) > 0);
TILEFOLD_CUBLAS_FUNCTIONS(TILEFOLD_CHECK)
#undef TILEFOLD_CHECK
static_assert(!std::is_same_v<TheirOf<decltype(cudnn::Api::cudnnCreateTensorDescriptor)>, decltype(&::cudnnCreateFilterDescriptor)>,
              "different descriptors do not fit");

#define TILEFOLD_SAME(ours, theirs) static_assert(static_cast<int>(ours) == static_cast<int>(theirs), #theirs " has another value");
TILEFOLD_SAME(cudnn::Status::success, CUDNN_STATUS_SUCCESS)
TILEFOLD_SAME(cudnn::DataType::float32, CUDNN_DATA_FLOAT)
TILEFOLD_SAME(cudnn::DataType::bfloat16, CUDNN_DATA_BFLOAT16)
TILEFOLD_SAME(cudnn::TensorFormat::nchw, CUDNN_TENSOR_NCHW)
TILEFOLD_SAME(cudnn::TensorFormat::nhwc, CUDNN_TENSOR_NHWC)
TILEFOLD_SAME(cudnn::ConvolutionMode::crossCorrelation, CUDNN_CROSS_CORRELATION)
TILEFOLD_SAME(cudnn::MathType::standard, CUDNN_DEFAULT_MATH)
TILEFOLD_SAME(cudnn::MathType::tensorCores, CUDNN_TENSOR_OP_MATH)
TILEFOLD_SAME(cudnn::MathType::fma, CUDNN_FMA_MATH)
TILEFOLD_SAME(cudnn::Determinism::deterministic, CUDNN_DETERMINISTIC)
TILEFOLD_SAME(cudnn::ForwardAlgorithm::implicitGemm, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM)
TILEFOLD_SAME(cudnn::ForwardAlgorithm::implicitPrecomputedGemm, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM)
TILEFOLD_SAME(cudnn::ForwardAlgorithm::gemm, CUDNN_CONVOLUTION_FWD_ALGO_GEMM)
TILEFOLD_SAME(cudnn::ForwardAlgorithm::direct, CUDNN_CONVOLUTION_FWD_ALGO_DIRECT)
TILEFOLD_SAME(cudnn::ForwardAlgorithm::fft, CUDNN_CONVOLUTION_FWD_ALGO_FFT)
TILEFOLD_SAME(cudnn::ForwardAlgorithm::fftTiling, CUDNN_CONVOLUTION_FWD_ALGO_FFT_TILING)
TILEFOLD_SAME(cudnn::ForwardAlgorithm::winograd, CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD)
TILEFOLD_SAME(cudnn::ForwardAlgorithm::winogradNonfused, CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED)
TILEFOLD_SAME(cudnn::ForwardAlgorithm::count, CUDNN_CONVOLUTION_FWD_ALGO_COUNT)
TILEFOLD_SAME(cudnn::BackwardDataAlgorithm::atomic, CUDNN_CONVOLUTION_BWD_DATA_ALGO_0)
TILEFOLD_SAME(cudnn::BackwardDataAlgorithm::implicitGemm, CUDNN_CONVOLUTION_BWD_DATA_ALGO_1)
TILEFOLD_SAME(cudnn::BackwardDataAlgorithm::fft, CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT)
TILEFOLD_SAME(cudnn::BackwardDataAlgorithm::fftTiling, CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT_TILING)
TILEFOLD_SAME(cudnn::BackwardDataAlgorithm::winograd, CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD)
TILEFOLD_SAME(cudnn::BackwardDataAlgorithm::winogradNonfused, CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD_NONFUSED)
TILEFOLD_SAME(cudnn::BackwardDataAlgorithm::count, CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT)
TILEFOLD_SAME(cudnn::BackwardFilterAlgorithm::atomic, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0)
TILEFOLD_SAME(cudnn::BackwardFilterAlgorithm::implicitGemm, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1)
TILEFOLD_SAME(cudnn::BackwardFilterAlgorithm::fft, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT)
TILEFOLD_SAME(cudnn::BackwardFilterAlgorithm::atomicPrecomputed, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_3)
TILEFOLD_SAME(cudnn::BackwardFilterAlgorithm::winograd, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD)
TILEFOLD_SAME(cudnn::BackwardFilterAlgorithm::winogradNonfused, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD_NONFUSED)
TILEFOLD_SAME(cudnn::BackwardFilterAlgorithm::fftTiling, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT_TILING)
TILEFOLD_SAME(cudnn::BackwardFilterAlgorithm::count, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT)
TILEFOLD_SAME(cudnn::DescriptorType::convolution, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR)
TILEFOLD_SAME(cudnn::DescriptorType::engine, CUDNN_BACKEND_ENGINE_DESCRIPTOR)
TILEFOLD_SAME(cudnn::DescriptorType::engineConfiguration, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR)
TILEFOLD_SAME(cudnn::DescriptorType::engineHeuristics, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR)
TILEFOLD_SAME(cudnn::DescriptorType::executionPlan, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR)
TILEFOLD_SAME(cudnn::DescriptorType::knobChoice, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR)
TILEFOLD_SAME(cudnn::DescriptorType::convolutionForward, CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR)
TILEFOLD_SAME(cudnn::DescriptorType::convolutionBackwardFilter, CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR)
TILEFOLD_SAME(cudnn::DescriptorType::convolutionBackwardData, CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR)
TILEFOLD_SAME(cudnn::DescriptorType::operationGraph, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR)
TILEFOLD_SAME(cudnn::DescriptorType::variantPack, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR)
TILEFOLD_SAME(cudnn::DescriptorType::tensor, CUDNN_BACKEND_TENSOR_DESCRIPTOR)
TILEFOLD_SAME(cudnn::AttributeType::handle, CUDNN_TYPE_HANDLE)
TILEFOLD_SAME(cudnn::AttributeType::dataType, CUDNN_TYPE_DATA_TYPE)
TILEFOLD_SAME(cudnn::AttributeType::int64, CUDNN_TYPE_INT64)
TILEFOLD_SAME(cudnn::AttributeType::float32, CUDNN_TYPE_FLOAT)
TILEFOLD_SAME(cudnn::AttributeType::pointer, CUDNN_TYPE_VOID_PTR)
TILEFOLD_SAME(cudnn::AttributeType::convolutionMode, CUDNN_TYPE_CONVOLUTION_MODE)
TILEFOLD_SAME(cudnn::AttributeType::heuristicMode, CUDNN_TYPE_HEUR_MODE)
TILEFOLD_SAME(cudnn::AttributeType::knobType, CUDNN_TYPE_KNOB_TYPE)
TILEFOLD_SAME(cudnn::AttributeType::numericalNote, CUDNN_TYPE_NUMERICAL_NOTE)
TILEFOLD_SAME(cudnn::AttributeType::descriptor, CUDNN_TYPE_BACKEND_DESCRIPTOR)
TILEFOLD_SAME(cudnn::AttributeType::behaviourNote, CUDNN_TYPE_BEHAVIOR_NOTE)
TILEFOLD_SAME(cudnn::Attribute::convolutionComputeType, CUDNN_ATTR_CONVOLUTION_COMP_TYPE)
TILEFOLD_SAME(cudnn::Attribute::convolutionMode, CUDNN_ATTR_CONVOLUTION_CONV_MODE)
TILEFOLD_SAME(cudnn::Attribute::convolutionDilations, CUDNN_ATTR_CONVOLUTION_DILATIONS)
TILEFOLD_SAME(cudnn::Attribute::convolutionStrides, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES)
TILEFOLD_SAME(cudnn::Attribute::convolutionPostPaddings, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS)
TILEFOLD_SAME(cudnn::Attribute::convolutionPrePaddings, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS)
TILEFOLD_SAME(cudnn::Attribute::convolutionSpatialDimensions, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS)
TILEFOLD_SAME(cudnn::Attribute::heuristicsMode, CUDNN_ATTR_ENGINEHEUR_MODE)
TILEFOLD_SAME(cudnn::Attribute::heuristicsGraph, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH)
TILEFOLD_SAME(cudnn::Attribute::heuristicsResults, CUDNN_ATTR_ENGINEHEUR_RESULTS)
TILEFOLD_SAME(cudnn::Attribute::configurationEngine, CUDNN_ATTR_ENGINECFG_ENGINE)
TILEFOLD_SAME(cudnn::Attribute::configurationKnobChoices, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES)
TILEFOLD_SAME(cudnn::Attribute::planHandle, CUDNN_ATTR_EXECUTION_PLAN_HANDLE)
TILEFOLD_SAME(cudnn::Attribute::planConfiguration, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG)
TILEFOLD_SAME(cudnn::Attribute::planWorkspaceBytes, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE)
TILEFOLD_SAME(cudnn::Attribute::knobChoiceType, CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE)
TILEFOLD_SAME(cudnn::Attribute::knobChoiceValue, CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE)
TILEFOLD_SAME(cudnn::Attribute::forwardSource, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X)
TILEFOLD_SAME(cudnn::Attribute::forwardWeights, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W)
TILEFOLD_SAME(cudnn::Attribute::forwardDestination, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y)
TILEFOLD_SAME(cudnn::Attribute::forwardAlpha, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA)
TILEFOLD_SAME(cudnn::Attribute::forwardBeta, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA)
TILEFOLD_SAME(cudnn::Attribute::forwardConvolution, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC)
TILEFOLD_SAME(cudnn::Attribute::backwardDataSource, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX)
TILEFOLD_SAME(cudnn::Attribute::backwardDataWeights, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W)
TILEFOLD_SAME(cudnn::Attribute::backwardDataDestination, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY)
TILEFOLD_SAME(cudnn::Attribute::backwardDataAlpha, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA)
TILEFOLD_SAME(cudnn::Attribute::backwardDataBeta, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA)
TILEFOLD_SAME(cudnn::Attribute::backwardDataConvolution, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC)
TILEFOLD_SAME(cudnn::Attribute::backwardFilterSource, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X)
TILEFOLD_SAME(cudnn::Attribute::backwardFilterWeights, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW)
TILEFOLD_SAME(cudnn::Attribute::backwardFilterDestination, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY)
TILEFOLD_SAME(cudnn::Attribute::backwardFilterAlpha, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA)
TILEFOLD_SAME(cudnn::Attribute::backwardFilterBeta, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA)
TILEFOLD_SAME(cudnn::Attribute::backwardFilterConvolution, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC)
TILEFOLD_SAME(cudnn::Attribute::graphHandle, CUDNN_ATTR_OPERATIONGRAPH_HANDLE)
TILEFOLD_SAME(cudnn::Attribute::graphOperations, CUDNN_ATTR_OPERATIONGRAPH_OPS)
TILEFOLD_SAME(cudnn::Attribute::tensorAlignment, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT)
TILEFOLD_SAME(cudnn::Attribute::tensorDataType, CUDNN_ATTR_TENSOR_DATA_TYPE)
TILEFOLD_SAME(cudnn::Attribute::tensorDimensions, CUDNN_ATTR_TENSOR_DIMENSIONS)
TILEFOLD_SAME(cudnn::Attribute::tensorStrides, CUDNN_ATTR_TENSOR_STRIDES)
TILEFOLD_SAME(cudnn::Attribute::tensorUniqueId, CUDNN_ATTR_TENSOR_UNIQUE_ID)
TILEFOLD_SAME(cudnn::Attribute::packUniqueIds, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS)
TILEFOLD_SAME(cudnn::Attribute::packPointers, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS)
TILEFOLD_SAME(cudnn::Attribute::packWorkspace, CUDNN_ATTR_VARIANT_PACK_WORKSPACE)
TILEFOLD_SAME(cudnn::Attribute::engineGraph, CUDNN_ATTR_ENGINE_OPERATION_GRAPH)
TILEFOLD_SAME(cudnn::Attribute::engineIndex, CUDNN_ATTR_ENGINE_GLOBAL_INDEX)
TILEFOLD_SAME(cudnn::Attribute::engineNumericalNotes, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE)
TILEFOLD_SAME(cudnn::Attribute::engineBehaviourNotes, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE)
TILEFOLD_SAME(cudnn::BehaviourNote::runtimeCompilation, CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION)
TILEFOLD_SAME(cudnn::HeuristicMode::fallback, CUDNN_HEUR_MODE_FALLBACK)
TILEFOLD_SAME(cudnn::HeuristicMode::a, CUDNN_HEUR_MODE_A)
TILEFOLD_SAME(cudnn::NumericalNote::tensorCore, CUDNN_NUMERICAL_NOTE_TENSOR_CORE)
TILEFOLD_SAME(cudnn::NumericalNote::downConvertInputs, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS)
TILEFOLD_SAME(cudnn::NumericalNote::reducedPrecisionReduction, CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION)
TILEFOLD_SAME(cudnn::NumericalNote::fft, CUDNN_NUMERICAL_NOTE_FFT)
TILEFOLD_SAME(cudnn::NumericalNote::nondeterministic, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC)
TILEFOLD_SAME(cudnn::NumericalNote::winograd, CUDNN_NUMERICAL_NOTE_WINOGRAD)
TILEFOLD_SAME(cudnn::NumericalNote::winogradTile4x4, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4)
TILEFOLD_SAME(cudnn::NumericalNote::winogradTile6x6, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6)
TILEFOLD_SAME(cudnn::NumericalNote::winogradTile13x13, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13)
TILEFOLD_SAME(cublas::Status::success, CUBLAS_STATUS_SUCCESS)
TILEFOLD_SAME(cublas::MathMode::wideReductions, CUBLAS_DEFAULT_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION)
TILEFOLD_SAME(cublas::DataType::float32, CUDA_R_32F)
TILEFOLD_SAME(cublas::DataType::bfloat16, CUDA_R_16BF)
TILEFOLD_SAME(cublas::ComputeType::float32, CUBLAS_COMPUTE_32F)
TILEFOLD_SAME(cublas::ComputeType::pedanticFloat32, CUBLAS_COMPUTE_32F_PEDANTIC)
TILEFOLD_SAME(cublas::ComputeType::tf32, CUBLAS_COMPUTE_32F_FAST_TF32)
TILEFOLD_SAME(cublas::GemmAlgorithm::standard, CUBLAS_GEMM_DEFAULT)
TILEFOLD_SAME(cublas::Operation::none, CUBLAS_OP_N)
TILEFOLD_SAME(cublas::Operation::transpose, CUBLAS_OP_T)
#undef TILEFOLD_SAME

}  // namespace

int main() { return 0; }
