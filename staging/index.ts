export { cudnnAlgorithm, turnedAlgorithm } from './algorithms'
export type { PlanOverride } from './check-segments'
export {
  computeMilliseconds,
  decodeChain,
  leastBytes,
  offload,
  offloadStrategies,
  peakBytes,
  type Chain,
  type OffloadRequest,
  type OffloadStrategy,
  type Offloaded
} from './chain'
export { chainOf, type ModelChain } from './chain/model-chain'
export type { ConvolutionAlgorithm, ConvolutionShape, DeviceModel } from './device-model'
export type { StagingError } from './error'
export {
  decodeDeviceFile,
  deviceFileKind,
  deviceFileName,
  fileModel,
  isProfile,
  isRecorded,
  type DescribedDevice,
  type DeviceFile
} from './file-model'
export { explain, type Explanation, type LiveBytes, type OtherBudget, type SegmentCost } from './explain'
export type { Graph, Node, Parameter } from './graph'
export { buildGraph, withLoss } from './build-graph'
export { isLearnable } from './graph'
export {
  encodeKernel,
  isConvolution,
  kernelKinds,
  kernelTable,
  keyOfKernel,
  type ConvolutionKernel,
  type Kernel,
  type KernelKind,
  type KernelOf
} from './kernels'
export { layoutCode, layouts, type Layout } from './layout'
export { allocators, type AllocatorName } from './placement'
export { maxLive, type Lifetime } from './placement/placement'
export { unusableFreeSpace } from './placement/unusable-free-space'
export { leastCudaChunk } from './placement/virtual'
export { profile, profiled, type Profile, type ProfiledModel, type TimeSource } from './profile'
export { residenceTexts } from './moments'
export { memoryPlan, type HostStay, type MemoryPlan, type PlacementChoice, type Residence, type Segment } from './plan'
export { objectiveText } from './objective-text'
export { decodePlanFile } from './plan-codec'
export { checkPlanFile, planFileOf, planFileText, type PlanFileForm } from './plan-file'
export { elementSizes, opcodes, sectionNames, spaces, tileAxes } from './program'
export type { Address, DevicePrecision, Exchanged, Instruction, Precision, Program, Resident, Section, SectionName, Space } from './program'
export { recording, unrecorded, type RecordedDevice, type Recording } from './recorded-device'
export { referenceModel } from './reference-model'
export { roofline, type Rates } from './roofline'
export { graphOf, plainPeakBytes, stage, type StageRequest, type Staged } from './stage'
export type { Objective, Optimizer, ParameterGroup, Training } from './objective'
export type { Source } from './lowering/context'
export { verify, type Verified, type VerifierFault } from './verify'
export { strategyNames, type StrategyName } from './strategies'
export { fusedTiledAxes } from './tiling'
export { tileCount, type Grid } from './plan'
export { productFlops } from './roofline'
