import { type Node, makeTargetWeight } from '../../staging'
import type { StepIo } from '../../native'

/**
 * The sum of what targets count in a loss that is divided by it, in an evaluation all classes
 * alike; undefined where it is not.
 */
export const weightOfTargets = (loss: Node, targets: ArrayLike<number>, isEvaluated = false): number | undefined => {
  const weightOf = makeTargetWeight(loss, isEvaluated)
  if (weightOf === undefined) return undefined
  let sum = 0
  for (let index = 0; index < targets.length; index += 1) sum += weightOf(targets[index]!)
  return sum
}

/**
 * Fills what a step divides by, `weight` being the sum over all micro-batches of an update, and the
 * class weights. Where nothing counts, the loss and its gradients are zero.
 */
export const setNormaliser = ({ args }: Node, weight: number | undefined, io: StepIo): void => {
  if (weight === undefined) return
  io.view('normaliser')[0] = weight === 0 ? 1 : weight
  if ('classWeights' in args && args.classWeights !== undefined) io.view('classWeights').set(args.classWeights)
}
