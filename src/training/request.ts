import type { Dataset } from '../datasets/dataset'
import type { Reading } from '../images/samples'
import type { DecodedTrainOptions } from '../option-tables/train-options'
import type { Ranks } from '../ranks/ranks'
import type { RunnableSetup } from '../plans/setup'
import type { TrainingObjective } from './training-objective'

/** A training as it was asked for: its options, and what was found by them. */
export interface TrainingRequest {
  readonly options: DecodedTrainOptions
  readonly setup: RunnableSetup
  /** Without what depends on the data: weights of rows, and a validation. */
  readonly objective: TrainingObjective
  readonly learningRate: number
  readonly resolution: Reading
  readonly dataset: Dataset
  /**
   * Images to validate on, or the share of the dataset (above 0, below 1) that is set aside for it.
   */
  readonly validation: Dataset | number | undefined
  /** The processes that share the micro-batches of an update; absent where this one is alone. */
  readonly ranks?: Ranks
  /** Takes one sentence that the user should see. */
  readonly notify: (sentence: string) => void
}
