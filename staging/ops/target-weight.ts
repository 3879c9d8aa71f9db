import { hasTarget, isNormalised, type Node } from '../graph/graph'
import { lossFunctions } from '../pointwise/loss-functions'

/** Every row of a batch counts: no label is this one. PyTorch's ignore_index. */
export const noLabel = -100

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)

/** A target that no loss counts, of a kind of its own: a row that is not there. */
export const uncountedTarget = (loss: Node): number => (hasTarget(loss, 'values') ? NaN : (getIgnoredLabel(loss) ?? noLabel))

/** The label of pixels that do not count; undefined where all targets do. */
export const getIgnoredLabel = (loss: Node): number | undefined => (hasTarget(loss, 'pixel-labels') ? (loss.args.ignore ?? 255) : undefined)

/**
 * Labels that a loss of classes tells apart: as many as there are channels, of a single one 0 and
 * 1.
 */
export const countLabels = ({ op, args, input }: Node): number => ('loss' in args && op !== 'valueLoss' && input[1] === 1 ? 2 : input[1])

/**
 * What one target adds to that by which a loss is divided: the weight of its class, or where each
 * channel is a loss of its own, those of all channels; undefined where a loss is not divided so.
 * Classes count alike in an evaluation.
 */
export const makeTargetWeight = (loss: Node, isEvaluated: boolean): ((target: number) => number) | undefined => {
  if (!isNormalised(loss)) return undefined
  if (hasTarget(loss, 'values')) return (target) => (Number.isNaN(target) ? 0 : 1)
  const classWeights = isEvaluated ? undefined : loss.args.classWeights
  const channels = loss.input[1]
  const isEach = 'loss' in loss.args && !lossFunctions(loss.args.loss, channels).softmax
  const all = classWeights === undefined ? channels : sum(classWeights)
  const uncounted = uncountedTarget(loss)
  return (label) => (label === uncounted ? 0 : isEach ? all : classWeights === undefined ? 1 : (classWeights[label] ?? 0))
}
