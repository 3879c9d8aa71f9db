import { hasTarget } from '../../staging'
import type { StepIo } from './step-io'
import type { Planned } from '../plans/plan-network'

/** A loss over pixels, with labels [B, H, W]. */
export interface PixelLoss {
  readonly batch: number
  readonly classes: number
  readonly height: number
  readonly width: number
  /** The label of pixels that do not count. */
  readonly ignored: number
  /** A factor for each class; all count alike where absent. */
  readonly classWeights: readonly number[] | undefined
}

/** Finds the loss over pixels that a network ends in; undefined where it ends in another one. */
export const findPixelLoss = ({ staged }: Pick<Planned, 'staged'>): PixelLoss | undefined => {
  const loss = staged.graph.nodes.at(-1)
  if (loss === undefined || !hasTarget(loss, 'pixel-labels')) return undefined
  const [batch, classes, height, width] = loss.input
  const { ignore = 255, classWeights } = loss.args
  return { batch, classes, height, width, ignored: ignore, classWeights }
}

/** The sum of the class weights of all pixels that count. */
export const weightOfPixels = ({ ignored, classWeights }: PixelLoss, labels: ArrayLike<number>): number => {
  let sum = 0
  for (let index = 0; index < labels.length; index += 1) {
    const label = labels[index]!
    if (label !== ignored) sum += classWeights === undefined ? 1 : (classWeights[label] ?? 0)
  }
  return sum
}

/**
 * Fills what a step divides by, `weight` being the sum over all micro-batches of an update, and the
 * class weights. Where no pixel counts, the loss and its gradients are zero.
 */
export const setPixelWeights = ({ classWeights }: PixelLoss, weight: number, io: StepIo): void => {
  io.view('normaliser')[0] = weight === 0 ? 1 : weight
  if (classWeights !== undefined) io.view('classWeights').set(classWeights)
}
