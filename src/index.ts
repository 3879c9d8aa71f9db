/**
 * The library: the commands of the command line as functions, with the same options and the same
 * results (src/README.md).
 */
export { type BenchReport, bench } from './commands/bench'
export { type CompareRow, compare } from './commands/compare'
export { explain } from './commands/explain'
export { type GradientsReport, gradients } from './commands/gradients'
export { plan } from './commands/plan'
export { predict } from './commands/predict'
export { type PredictReport } from './commands/predict-report'
export { type ProfileReport, profile } from './commands/profile'
export { type NetworkReport } from './commands/profile-network'
export { type ChainReport, chain } from './commands/research/chain'
export { type OffloadReport, type OffloadedStage, offload } from './commands/research/offload'
export { type PlaceReport, place } from './commands/research/place'
export { type TrainReport, train } from './commands/train'
export { type Failure, type Outcome, exitStatus } from './failure'
export { type Dataset, type Example } from './datasets/dataset'
export { type ClassSet, type Label, type TargetValues } from './datasets/labels'
export { type ReadDatasetOptions, readDataset } from './commands/read-dataset'
export {
  type BenchOptions,
  type BenchStep,
  type CompareOptions,
  type ExplainOptions,
  type GradientsOptions,
  type PlanOptions,
  type ProfileOptions
} from './option-tables/command-options'
export { type OptimizerOptions } from './option-tables/optimizer-options'
export { type PredictOptions } from './option-tables/predict-options'
export { type ChainOptions, type OffloadOptions, type PlaceOptions } from './option-tables/research-options'
export { type SetupOptions } from './option-tables/setup-options'
export { type Size } from './options/sizes'
export { formatBytes, formatMilliseconds } from './text/format'
export { type TrainOptions } from './option-tables/train-options'
export { type ExplanationReport } from './plans/explanation-report'
export { type Planned } from './plans/plan-network'
export { type PlanReport, planText } from './plans/plan-report'
export { type ColourJitter } from './training/batches/augmentation'
export { type Best, type BestBy, type Validation } from './training/validation/best'
export { type ClassWeights } from './options/class-weights'
export { type StainJitter } from './training/batches/stain-jitter'
export { type LearningRateSchedule } from './training/learning-rate'
export { type StepReport } from './training/step-report'
export { type StartingWeights } from './weights/weights'
export { type TensorData } from './weights/safetensors'
export { writeTensorFile } from './weights/tensor-file'
