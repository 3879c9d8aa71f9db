import { tileCount } from '../../graph/span'
import type { TransformedLayouts } from '../../kernels/layout'
import type { Segment } from '../../plans/plan'
import { arenaOperand } from '../ir/builder'
import type { ModelScope, SegmentScope } from '../scope/scope'
import type { NodeParameters, ParameterTensor } from '../scope/parameter-tensor'
import { sharesCopies, weightsIn } from '../scope/parameters'
import { hasSlices } from '../scope/weight-slices'

/** Positions of the convolutions that the device also has by Winograd. */
export const transformablePositions = ({ parameters }: Pick<ModelScope, 'parameters'>): readonly number[] =>
  parameters.flatMap((both, position) => (both?.weight?.transformed !== undefined ? [position] : []))

/** The weights of those that a segment runs by Winograd. */
export const winogradWeights = ({ parameters }: Pick<ModelScope, 'parameters'>, { winograd = [] }: Segment): ReadonlySet<ParameterTensor> =>
  new Set(winograd.map((position) => parameters[position]!.weight!))

/** Layers whose transformed weights a segment's tiles share, by the direction that reads them. */
export type SharedTransforms = { readonly [D in keyof TransformedLayouts]: readonly (NodeParameters | undefined)[] }

/**
 * Whether a convolution by Winograd reads its weights as they are stored: nothing is tiled, and a
 * plan does not ask for slices.
 */
export const readsStored = (
  { storedForWinograd }: Pick<ParameterTensor, 'storedForWinograd'>,
  direction: keyof TransformedLayouts,
  segment: Pick<Segment, 'grid'>,
  inSlices: boolean
): boolean => !inSlices && storedForWinograd.includes(direction) && tileCount(segment.grid) === 1

/**
 * Transformed weights of a segment's convolutions by Winograd: made here, before the tiles, for the
 * layers in `shared`; else, in slices, and in a segment without tiles, just before they are read,
 * unless they are read as they are stored.
 */
export const transformWeights = (
  scope: Pick<SegmentScope, 'parameters' | 'builder' | 'activationBytes' | 'parameterBytes' | 'castWeights'>,
  segment: Segment,
  shared: SharedTransforms
): SegmentScope['winograd'] => {
  const chosen = winogradWeights(scope, segment)
  if (chosen.size === 0) return new Map()
  const sliced = new Set((segment.slicedWinograd ?? []).map((position) => scope.parameters[position]!.weight!))
  const once = sharesCopies(segment)
  const towards = (direction: keyof TransformedLayouts) => {
    const isShared = (weight: ParameterTensor): boolean =>
      once && chosen.has(weight) && !(sliced.has(weight) && hasSlices(weight, direction))
    const make = (weight: ParameterTensor) => weightsIn(scope, weight, weight.transformed![direction])
    const made = new Map(
      shared[direction].flatMap((both) =>
        both?.weight !== undefined && isShared(both.weight) ? [[both.weight, make(both.weight)] as const] : []
      )
    )
    return (weight: ParameterTensor) => {
      if (readsStored(weight, direction, segment, sliced.has(weight)))
        return { layout: weight.layout, weights: () => arenaOperand(weight.buffer) }
      return { layout: weight.transformed![direction], weights: () => made.get(weight) ?? make(weight) }
    }
  }
  const [forward, backward] = [towards('forward'), towards('backward')]
  return new Map(
    [...chosen].map((weight) => [weight, { forward: forward(weight), backward: backward(weight), inSlices: sliced.has(weight) }] as const)
  )
}
