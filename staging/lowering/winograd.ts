import type { Segment } from '../plan'
import { tileCount } from '../tiling'
import type { Context, NodeParameters, ParameterTensor, TransformedLayout } from './context'
import { weightsIn } from './parameters'

export const usesWinograd = ({ convolutions }: Segment, weight: ParameterTensor): boolean =>
  convolutions === 'winograd' && weight.transformable

/**
 * The context of a segment's forward or backward, where its convolutions find transformed weights: made here, before the tiles, for the
 * layers in `shared`; else, and in a segment without tiles, just before they are read.
 */
export const withWinograd = (
  context: Context,
  segment: Segment,
  shared: { readonly [L in TransformedLayout]: readonly (NodeParameters | undefined)[] }
): Context => {
  if (segment.convolutions !== 'winograd') return context
  const once = tileCount(segment.grid) > 1 && segment.reorder === 'once'
  const made = (layout: TransformedLayout) =>
    new Map(
      shared[layout].flatMap((both) =>
        once && both?.weight.transformable ? [[both.weight, weightsIn(context, both.weight, layout)] as const] : []
      )
    )
  const ready = { winogradForward: made('winogradForward'), winogradBackward: made('winogradBackward') }
  return {
    ...context,
    winograd: (weight, layout) => (weight.transformable ? (ready[layout].get(weight) ?? weightsIn(context, weight, layout)) : undefined)
  }
}
