export {
  cudnnAlgorithm,
  engineOf,
  fewChannelsAlgorithm,
  rotated180Algorithm,
  warpgroupAlgorithm,
  wholeWarpgroupAlgorithm
} from './devices/algorithms'
export { computeMilliseconds, decodeChain, leastBytes, chooseOffload, peakBytes, type Chain, type OffloadStrategy } from './chain'
export { buildChain, type ModelChain } from './model-chain'
export type { ConvolutionAlgorithm, DeviceModel } from './devices/device-model'
export type { StagingError } from './error'
export { exchangedBytes } from './exchanged'
export type { Interval } from './graph/interval'
export { imagesRead } from './images-read'
export { networkNanoseconds } from './devices/simulate'
export type { NetworkRates } from './devices/network'
export { fitNetwork, measuredNetwork, type MeasuredNetwork } from './devices/measured-network'
export {
  decodeDeviceFile,
  deviceFileKind,
  deviceFileName,
  fileModel,
  isProfile,
  isRecorded,
  type DescribedDevice,
  type DeviceFile
} from './devices/file-model'
export { explainModel, explainGraph, type Explanation, type LiveBytes, type OtherBudget, type WithinBudget } from './explain'
export { buildGraph, withClassWeights } from './ops/build-graph'
export { earlierGraphHash, graphHash } from './ops/graph-hash'
export { getIgnoredLabel, countLabels, makeTargetWeight, uncountedTarget } from './ops/target-weight'
export { hasTarget, isNormalised, isTrainable, type Graph, type Node } from './graph/graph'
export { receptiveField, type ReceptiveField } from './graph/receptive-field'
export { lossFunctions, type LossFunctions } from './pointwise/loss-functions'
export { runExpression } from './pointwise/run-expression'
export { isConvolution, keyOfKernel, type ConvolutionKernel, type Kernel, type KernelOf } from './kernels/kernels'
export { smallerKernel } from './kernels/smaller-kernel'
export { asInTiles, readsStoredWeights } from './kernels/winograd-products'
export { layoutCode, layouts } from './kernels/layout'
export { allocators, type AllocatorName } from './placement'
export { maxLive, type Lifetime } from './placement/placement'
export { unusableFreeSpace } from './placement/unusable-free-space'
export { minCudaPage } from './placement/virtual'
export { deviceProfile, isKernel, withProfile, type Profile, type ProfiledModel, type TimeSource } from './devices/profile'
export { swapScheduleTexts } from './plans/timepoints'
export type { Plan, PlanPlacement, Segment, SwapInterval, SwapSchedule } from './plans/plan'
export { objectiveText } from './graph/objective-text'
export { decodePlanFile } from './plans/plan-codec'
export { checkPlanFile, toPlanFile, planFileText, type PlanFileForm } from './plan-file'
export { gradientNames, listExchanges, nameOfSent, type NetworkInstruction } from './program/network-instructions'
export { elementSizes } from './kernels/precision'
export type { Instruction, Program, Section, SectionName } from './program/program'
export type { DevicePrecision, Precision } from './kernels/precision'
export { createRecording, findUnrecorded, type RecordedDevice } from './devices/recorded-device'
export { referenceModel } from './devices/reference-model'
export { roofline } from './kernels/roofline'
export { buildRequestGraph, type Budget, type PlanRequest, type Searched, type StageRequest } from './request'
export { leastOfOneRank } from './search'
export { bytesOfPlain, decideEach, plainPeakBytes, type Decision } from './decide'
export { stage, stageDecision, stageEach, stageGraph, type PredictedPlan, type Staged } from './stage'
export {
  checkObjective,
  microBatches,
  ranksOfOptimizer,
  type Objective,
  type Optimizer,
  type ParameterGroup,
  type Training
} from './graph/objective'
export type { Source } from './graph/step-graph'
export { decodeRankSummary, summariseRank, verify, verifyRanks, verifySummaries, type RankSummary, type VerifierFault } from './verify'
export { strategyNames, type StrategyName } from './strategies'
export { fusibleTileAxes } from './graph/grid'
export type { Grid } from './graph/span'
export { productFlops } from './kernels/work'
export { plansOnLoad } from './plans-on-load'
export { printProgram } from './program/print-program'
export { runTimeline, type SectionRun, type SectionSpan } from './devices/run-timeline'
export { stepTimeline } from './devices/step-timeline'
export type { BufferSpan, EngineSpan, StepTimeline } from './devices/timeline'
