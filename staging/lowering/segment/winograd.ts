import { tileCount, type Segment } from '../../plans/plan'
import type { Context, NodeParameters, ParameterTensor, TransformedLayout } from '../scope/scope'
import { weightsIn } from '../scope/parameters'

/** Positions of the convolutions that the device also has by Winograd. */
export const transformablePositions = ({ parameters }: Pick<Context, 'parameters'>): readonly number[] =>
  parameters.flatMap((both, position) => (both?.weight?.transformable === true ? [position] : []))

/** The weights of those that a segment runs by Winograd. */
export const winogradWeights = ({ parameters }: Pick<Context, 'parameters'>, { winograd = [] }: Segment): ReadonlySet<ParameterTensor> =>
  new Set(winograd.map((position) => parameters[position]!.weight!))

/**
 * The context of a segment's forward or backward, where its convolutions find transformed weights: made here, before the tiles, for the
 * layers in `shared`; else, and in a segment without tiles, just before they are read.
 */
export const withWinograd = (
  context: Context,
  segment: Segment,
  shared: { readonly [L in TransformedLayout]: readonly (NodeParameters | undefined)[] }
): Context => {
  const chosen = winogradWeights(context, segment)
  if (chosen.size === 0) return context
  const once = tileCount(segment.grid) > 1 && segment.reorder === 'once'
  const inLayout = (layout: TransformedLayout) => {
    const made = new Map(
      shared[layout].flatMap((both) =>
        once && both?.weight !== undefined && chosen.has(both.weight)
          ? [[both.weight, weightsIn(context, both.weight, layout)] as const]
          : []
      )
    )
    return (weight: ParameterTensor) => () => made.get(weight) ?? weightsIn(context, weight, layout)
  }
  const [forward, backward] = [inLayout('winogradForward'), inLayout('winogradBackward')]
  const winograd = new Map(
    [...chosen].map((weight) => [weight, { winogradForward: forward(weight), winogradBackward: backward(weight) }] as const)
  )
  return { ...context, winograd }
}
