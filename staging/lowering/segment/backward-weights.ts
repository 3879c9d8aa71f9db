import { getNodeLowering } from '../../ops'
import type { UnplacedOperand } from '../ir/builder'
import type { ParameterTensor } from '../scope/parameter-tensor'
import { castSharedWeights, sharesCopies, weightsIn } from '../scope/parameters'
import type { SegmentScope } from '../scope/scope'
import { parametersWhere, type SegmentBackward } from './segment-backward'
import { createSegmentScope } from './segment-scope'
import { winogradWeights } from './winograd'

/** How the weights of a segment are read in its backward. */
export interface BackwardWeights {
  readonly inside: SegmentScope
  /** Weights as the gradient of the input reads them. */
  readonly backwardWeights: (weight: ParameterTensor) => UnplacedOperand
}

/**
 * Before the tiles: the copies of weights that they share, and the scope in which they run.
 * `isKept`: forward need not run again.
 */
export const prepareWeights = (backward: SegmentBackward, isKept: boolean): BackwardWeights => {
  const { scope, code, pass } = backward
  const { requiresGrad, graph } = scope
  const { segment } = code
  const withSourceGradient = parametersWhere(backward, (position) => {
    const node = graph.nodes[position]!
    return requiresGrad[node.inputs[0]!]! && getNodeLowering(node).backwardReadsStored !== true
  })
  const transformed = winogradWeights(scope, segment)
  // What backward does not read is not run forward again.
  const again = isKept ? [] : parametersWhere(backward, pass.runs)
  const readAlike = withSourceGradient.filter((both) => both?.weight?.forwardLayout === both?.weight?.backwardLayout)
  const castWeights = castSharedWeights(scope, segment, [...again, ...readAlike])
  const forBackward = (weight: ParameterTensor): UnplacedOperand => weightsIn({ ...scope, castWeights }, weight, weight.backwardLayout)
  const shared = new Map(
    sharesCopies(segment)
      ? withSourceGradient.flatMap((both) =>
          both?.weight === undefined || transformed.has(both.weight) ? [] : [[both.weight, forBackward(both.weight)] as const]
        )
      : []
  )
  const inside = createSegmentScope(scope, segment, {
    sums: new Map(),
    castWeights,
    transforms: { forward: again, backward: withSourceGradient },
    // A normalisation from which nothing learns has no backward.
    runs: (position) => (!isKept && pass.runs(position)) || requiresGrad[position + 1]!
  })
  return { inside, backwardWeights: (weight) => shared.get(weight) ?? forBackward(weight) }
}
