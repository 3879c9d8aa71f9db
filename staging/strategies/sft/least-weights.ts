import { untiled, type Span } from '../../graph/span'
import { copyBytes, trainableTensors } from '../../lowering/scope/parameters'
import type { ModelScope } from '../../lowering/scope/scope'
import { sliceElements } from '../../lowering/scope/weight-slices'
import { readsStored } from '../../lowering/segment/winograd'
import { getNodeLowering } from '../../ops'
import { alignUp } from '../../placement/placement'
import type { Variant } from '../strategy'

/** Bytes that backward of a segment cannot do without, however small its tiles are. */
export interface LeastWeights {
  /** Without tiles: a layer's gradient, or its weights as that of its input reads them. */
  readonly whole: number
  /** In tiles: all gradients, and beside them a layer's of one tile, or its weights. */
  readonly tiled: number
  /** In tiles that share the copies of all weights. */
  readonly shared: number
}

/** What weights and their gradients take of the backward of a segment, at least. */
export const leastWeights = (scope: ModelScope): ((span: Span, variant: Variant) => LeastWeights) => {
  const { graph, parameters, requiresGrad, parameterBytes } = scope
  const layers = graph.nodes.map((node, position) => {
    const own = trainableTensors(parameters[position])
    const weight = parameters[position]?.weight
    const isRead = weight !== undefined && requiresGrad[node.inputs[0]!]! && getNodeLowering(node).backwardReadsStored !== true
    return {
      /** Of a normalisation they come from sums. */
      gradients: node.statistics === undefined ? own.reduce((sum, { elements }) => sum + alignUp(elements * parameterBytes), 0) : 0,
      isKept: own.some(({ gradient }) => gradient !== undefined),
      direct: isRead ? alignUp(copyBytes(scope, weight, weight.backwardLayout)) : 0,
      winograd: isRead && weight.transformed !== undefined ? alignUp(copyBytes(scope, weight, weight.transformed.backward)) : 0,
      readsStored: weight !== undefined && readsStored(weight, 'backward', { grid: untiled }, false),
      slice: isRead && weight.transformed !== undefined ? alignUp(sliceElements(weight, 'backward') * parameterBytes) : 0
    }
  })
  return ({ from, to }, { winograd = [], winogradInTiles = winograd, slicedWinograd = [] }) => {
    const [chosen, inTiles, sliced] = [winograd, winogradInTiles, slicedWinograd].map((positions) => new Set(positions))
    let [sums, copies, whole, own, beside] = [0, 0, 0, 0, 0]
    for (let position = from; position < to; position++) {
      const { gradients, isKept, direct, winograd: transformed, readsStored: isOfStored, slice } = layers[position]!
      const copyBy = (byWinograd: ReadonlySet<number>): number =>
        sliced!.has(position) ? slice : byWinograd.has(position) ? transformed : direct
      const copy = copyBy(inTiles!)
      const sum = isKept ? 0 : gradients
      sums += sum
      copies += copy
      own = Math.max(own, gradients)
      const isCopied = sliced!.has(position) || !chosen!.has(position) || !isOfStored
      whole = Math.max(whole, sum, isCopied ? copyBy(chosen!) : 0)
      beside = Math.max(beside, gradients, copy)
    }
    return { whole, tiled: sums + beside, shared: sums + copies + own }
  }
}
