import type { Dataset } from '../images/dataset'
import type { Planned } from '../plans/plan-network'
import type { RunnableSetup } from '../plans/setup'
import type { Schedule } from './schedule'
import type { Watching } from '../plans/measure'
import type { ColourJitter } from './augmentation'
import type { BestBy, Validation } from './best'
import type { ClassWeights } from './class-weights'
import type { ObjectiveOptions } from './objective'

/** Named as on the command line; what may be left out is off, or as said. */
export interface TrainOptions extends RunnableSetup, ObjectiveOptions, Watching {
  readonly dataset: Dataset
  /** Updates of the weights. */
  readonly steps?: number
  /** Instead of steps: times through the data; 1 where both are absent. */
  readonly epochs?: number
  readonly learningRate: number
  readonly schedule: Schedule
  /** Steps over which the learning rate rises, before the schedule begins. */
  readonly warmup?: number
  readonly seed: number
  /** Random horizontal and vertical flips, beside the random crops. */
  readonly flip: boolean
  /** Random turns by 90, 180 and 270 degrees. */
  readonly rotate?: boolean
  readonly colourJitter?: ColourJitter
  readonly classWeights?: ClassWeights
  /** Images to validate on, or the share of the dataset (above 0, below 1) that is set aside for it. */
  readonly validation?: Dataset | number
  /** Steps between validations; an epoch's where absent. The last step is always followed by one. */
  readonly validateEvery?: number
  /** Where the weights of the best validation go. */
  readonly best?: string
  /** Lowest `loss` (where absent), highest `accuracy`, `auc` of labels or `iou` of masks. */
  readonly bestBy?: BestBy
  /** Stops after that many validations in a row without a better one. */
  readonly earlyStop?: number
  /** A JSON-lines file: an object a step and a validation. */
  readonly metrics?: string
  /** A safetensors file to start from; drawn from the seed where absent. */
  readonly weights?: string
  /** Where the weights go in the end. */
  readonly save?: string
  /** A folder that keeps what is needed to go on after a crash. */
  readonly state?: string
  /** Steps between states; an epoch's, or 100 where that is less, where absent. */
  readonly stateEvery?: number
  /** Goes on from the newest state in the folder, or starts where it holds none. */
  readonly resume?: boolean
  /** Whether every image is read whole and decoded before anything is planned. */
  readonly checkData?: boolean
  /** While images are read whole: `done` of them, of `total`. */
  readonly onCheck?: (done: number, total: number) => void
  readonly onPlan?: (planned: Planned) => void
  readonly onStep?: (report: StepReport) => void
  readonly onValidation?: (validation: Validation) => void
  /** One sentence that the user should see. */
  readonly onNotice?: (sentence: string) => void
}

export interface StepReport {
  /** From 0. */
  readonly step: number
  readonly steps: number
  readonly loss: number
  readonly milliseconds: number
  /** Highest changed byte of the arena after the first step, plus one. */
  readonly peakDeviceBytes: number
}
