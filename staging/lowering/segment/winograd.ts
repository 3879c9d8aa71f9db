import { type Segment } from '../../plans/plan'
import type { ModelScope, SegmentScope, TransformedLayout } from '../scope/scope'
import type { NodeParameters, ParameterTensor } from '../scope/parameter-tensor'
import { sharesCopies, weightsIn } from '../scope/parameters'
import { hasSlices } from '../scope/weight-slices'

/** Positions of the convolutions that the device also has by Winograd. */
export const transformablePositions = ({ parameters }: Pick<ModelScope, 'parameters'>): readonly number[] =>
  parameters.flatMap((both, position) => (both?.weight?.transformable === true ? [position] : []))

/** The weights of those that a segment runs by Winograd. */
export const winogradWeights = ({ parameters }: Pick<ModelScope, 'parameters'>, { winograd = [] }: Segment): ReadonlySet<ParameterTensor> =>
  new Set(winograd.map((position) => parameters[position]!.weight!))

/** Layers whose transformed weights a segment's tiles share, by what they are transformed for. */
export type SharedTransforms = { readonly [L in TransformedLayout]: readonly (NodeParameters | undefined)[] }

/**
 * Transformed weights of a segment's convolutions by Winograd: made here, before the tiles, for the
 * layers in `shared`; else, in slices, and in a segment without tiles, just before they are read.
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
  const inLayout = (layout: TransformedLayout) => {
    const isShared = (weight: ParameterTensor): boolean => once && chosen.has(weight) && !(sliced.has(weight) && hasSlices(weight, layout))
    const made = new Map(
      shared[layout].flatMap((both) =>
        both?.weight !== undefined && isShared(both.weight) ? [[both.weight, weightsIn(scope, both.weight, layout)] as const] : []
      )
    )
    return (weight: ParameterTensor) => () => made.get(weight) ?? weightsIn(scope, weight, layout)
  }
  const [forward, backward] = [inLayout('winogradForward'), inLayout('winogradBackward')]
  return new Map(
    [...chosen].map((weight) => {
      const whole = { winogradForward: forward(weight), winogradBackward: backward(weight) }
      return [weight, { ...whole, inSlices: sliced.has(weight) }] as const
    })
  )
}
