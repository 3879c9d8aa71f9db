// The part of cuDNN 9's graph interface that this uses, declared as cudnn_api.hpp is. Everything in
// it is a descriptor that gets attributes and is finalised.
#pragma once
#include <cstdint>

#include "cudnn_api.hpp"

namespace tilefold::cuda::cudnn {

using GraphDescriptor = void*;  // cudnnBackendDescriptor_t

enum class DescriptorType : int {
  convolution = 1,
  engine = 2,
  engineConfiguration = 3,
  engineHeuristics = 4,
  executionPlan = 5,
  knobChoice = 7,
  convolutionForward = 10,
  convolutionBackwardFilter = 11,
  convolutionBackwardData = 12,
  operationGraph = 15,
  variantPack = 16,
  tensor = 17
};

enum class AttributeType : int {
  handle = 0,
  dataType = 1,
  int64 = 3,
  float32 = 4,
  pointer = 6,
  convolutionMode = 7,
  heuristicMode = 8,
  knobType = 9,
  numericalNote = 11,
  descriptor = 15,
  behaviourNote = 19
};

enum class Attribute : int {
  convolutionComputeType = 100,
  convolutionMode = 101,
  convolutionDilations = 102,
  convolutionStrides = 103,
  convolutionPostPaddings = 104,
  convolutionPrePaddings = 105,
  convolutionSpatialDimensions = 106,
  heuristicsMode = 200,
  heuristicsGraph = 201,
  heuristicsResults = 202,
  configurationEngine = 300,
  configurationKnobChoices = 302,
  planHandle = 400,
  planConfiguration = 401,
  planWorkspaceBytes = 402,
  knobChoiceType = 600,
  knobChoiceValue = 601,
  forwardAlpha = 700,
  forwardBeta = 701,
  forwardConvolution = 702,
  forwardWeights = 703,
  forwardSource = 704,
  forwardDestination = 705,
  backwardDataAlpha = 706,
  backwardDataBeta = 707,
  backwardDataConvolution = 708,
  backwardDataWeights = 709,
  backwardDataSource = 710,
  backwardDataDestination = 711,
  backwardFilterAlpha = 712,
  backwardFilterBeta = 713,
  backwardFilterConvolution = 714,
  backwardFilterWeights = 715,
  backwardFilterSource = 716,
  backwardFilterDestination = 717,
  graphHandle = 800,
  graphOperations = 801,
  tensorAlignment = 900,
  tensorDataType = 901,
  tensorDimensions = 902,
  tensorStrides = 903,
  tensorUniqueId = 906,
  packUniqueIds = 1000,
  packPointers = 1001,
  packWorkspace = 1003,
  engineGraph = 1300,
  engineIndex = 1301,
  engineNumericalNotes = 1303,
  engineBehaviourNotes = 1305
};

enum class HeuristicMode : int { fallback = 2, a = 3 };

enum class NumericalNote : int {
  tensorCore,
  downConvertInputs,
  reducedPrecisionReduction,
  fft,
  nondeterministic,
  winograd,
  winogradTile4x4,
  winogradTile6x6,
  winogradTile13x13
};

enum class BehaviourNote : int { runtimeCompilation = 0 };

// X(name, result, arguments) for each function.
#define TILEFOLD_CUDNN_GRAPH_FUNCTIONS(X)                                                                                         \
  X(cudnnBackendCreateDescriptor, Status, (DescriptorType, GraphDescriptor*))                                                     \
  X(cudnnBackendDestroyDescriptor, Status, (GraphDescriptor descriptor))                                                          \
  X(cudnnBackendFinalize, Status, (GraphDescriptor descriptor))                                                                   \
  X(cudnnBackendSetAttribute, Status,                                                                                             \
    (GraphDescriptor descriptor, Attribute, AttributeType, std::int64_t count, const void* values))                               \
  X(cudnnBackendGetAttribute, Status,                                                                                             \
    (GraphDescriptor descriptor, Attribute, AttributeType, std::int64_t requested, std::int64_t* returned, void* values))         \
  X(cudnnBackendExecute, Status, (Handle handle, GraphDescriptor plan, GraphDescriptor pack))

struct Api {
#define TILEFOLD_MEMBER(name, result, arguments) result(*name) arguments = nullptr;
  TILEFOLD_CUDNN_FUNCTIONS(TILEFOLD_MEMBER)
  TILEFOLD_CUDNN_GRAPH_FUNCTIONS(TILEFOLD_MEMBER)
#undef TILEFOLD_MEMBER
};

}  // namespace tilefold::cuda::cudnn
