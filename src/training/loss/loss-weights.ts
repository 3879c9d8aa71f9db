import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { StepIo } from '../../../native'
import type { Outcome } from '../../failure'
import type { Node } from '../../../staging'
import { setNormaliser, weightOfTargets } from '../../running/normaliser'
import type { Batches } from '../batches/batches'
import { rowWeights } from './class-weights'

/** Fills the weights of the micro-step at `index` of an update into the step's I/O buffer. */
export type FillWeights = (index: number, io: StepIo) => void

/**
 * Learns what must be known of all micro-steps of an update before the first one, and answers with
 * a function that fills the weights of the one at `index` into the step's I/O buffer.
 */
export type LossWeights = (microSteps: readonly number[]) => Outcome<FillWeights>

/** Weights each row alike. */
export const uniformLossWeights: LossWeights = () => TE.right(() => undefined)

/** Rows weighted by their labels' classes, and by weights of their own. */
export const lossWeightsByRow =
  (classWeights: readonly number[] | undefined, { examples }: Batches): LossWeights =>
  (microSteps) =>
    pipe(
      microSteps,
      TE.traverseSeqArray(examples),
      TE.map((rows) => {
        const weights = rowWeights(classWeights, rows.flat())
        const count = rows[0]!.length
        return (index, io) => io.view('rowWeights').set(weights.slice(index * count, (index + 1) * count))
      })
    )

/** Targets by what they count in a loss that is divided by it. */
export const lossWeightsByTarget =
  (loss: Node, { target }: Batches): LossWeights =>
  (microSteps) =>
    pipe(
      microSteps,
      TE.traverseSeqArray((microStep) => TE.map((targets: ArrayLike<number>) => weightOfTargets(loss, targets) ?? 0)(target(microStep))),
      TE.map((weights) => {
        const weight = weights.reduce((sum, one) => sum + one, 0)
        return (_, io) => setNormaliser(loss, weight, io)
      })
    )

/** Fills what rows of a loss are weighted by in two ways, one after the other. */
export const combineLossWeights =
  (first: LossWeights, second: LossWeights): LossWeights =>
  (microSteps) =>
    pipe(
      TE.Do,
      TE.bind('first', () => first(microSteps)),
      TE.bind('second', () => second(microSteps)),
      TE.map(({ first: fill, second: fillToo }) => (index, io) => {
        fill(index, io)
        fillToo(index, io)
      })
    )
