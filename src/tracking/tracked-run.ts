import * as TE from 'fp-ts/TaskEither'
import type { Graph } from '../../staging'
import type { Outcome } from '../failure'
import type { Validation } from '../training/validation/best'
import type { StepReport } from '../training/step-report'
import type { Tracker } from '../training/tracker'

/** The training that is followed, as it begins. */
export interface TrackedRun {
  readonly graph: Graph
  /** Options that numbers depend on, and where it runs, as texts. */
  readonly hyperParameters: Readonly<Record<string, string>>
  /** Steps that were done before, where a training is resumed. */
  readonly stepsBefore: number
}

/** One value of a run, under the name that TensorBoard and MLflow group by. */
export interface Scalar {
  readonly tag: string
  readonly value: number
}

const finite = (scalars: readonly (readonly [tag: string, value: number | null | undefined])[]): readonly Scalar[] =>
  scalars.flatMap(([tag, value]) => (typeof value === 'number' ? [{ tag, value }] : []))

/**
 * What a step is followed by: loss, learning rate, norm of the gradient, milliseconds, images a
 * second, epochs and peak bytes; without what is absent.
 */
export const scalarsOfStep = ({ loss, learningRate, gradientNorm, milliseconds, images, epoch, peakDeviceBytes }: StepReport) =>
  finite([
    ['loss/training', loss],
    ['rate/learning_rate', learningRate],
    ['rate/gradient_norm', gradientNorm],
    ['step/milliseconds', milliseconds],
    ['step/images_per_second', (1e3 * images) / milliseconds],
    ['step/epoch', epoch],
    ['step/peak_device_bytes', peakDeviceBytes]
  ])

/** What a validation is followed by: its measures that are one number. */
export const scalarsOfValidation = ({ step: _, ...measures }: Validation) =>
  finite(Object.entries(measures).map(([name, value]) => [`${name}/validation`, typeof value === 'number' ? value : undefined]))

/** Several trackers as one: each is told in turn. */
export const allTrackers = (trackers: readonly Tracker[]): Tracker => {
  const each = (tell: (tracker: Tracker) => Outcome<void>): Outcome<void> => TE.map(() => undefined)(TE.traverseSeqArray(tell)(trackers))
  return {
    step: (report) => each((tracker) => tracker.step(report)),
    validation: (validation, crops) => each((tracker) => tracker.validation(validation, crops)),
    close: async (ending) => {
      for (const tracker of trackers) await tracker.close(ending)
    }
  }
}
