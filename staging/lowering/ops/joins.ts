import { sameAccess } from '../../graph/access'
import { activationElements, channelsAreApart, layoutCode } from '../../kernels/layout'
import { inLayout } from '../scope/copies'
import { tensorBytes } from '../scope/regions'
import type { TileTensor } from '../ir/tile-tensor'
import { sameLayout, type OpLowering } from './op-lowering'

export const add: OpLowering<'add'> = {
  access: sameAccess,
  saves: {},
  inPlace: true,
  fusesRectifier: 'forward',
  outputLayout: sameLayout,
  forward: (scope, { sources, destination, slope }) => {
    const [first, second] = sources.map((tile) => inLayout(scope, tile, destination.layout))
    scope.builder.launch<'addForward'>(
      { kind: 'addForward', count: activationElements(destination.layout, destination.extents), slope },
      { first: first!.address, second: second!.address, destination: destination.address }
    )
  },
  backward: 'identity'
}

/** The channels of one tile to, or from, those of another from `first` on. */
const copyFields = (
  { extents: [batch, count, height, width] }: TileTensor,
  from: { readonly tile: TileTensor; readonly first: number },
  to: { readonly tile: TileTensor; readonly first: number }
) =>
  ({
    kind: 'copyChannels',
    ...{ batch, height, width, count, add: 0 },
    sourceChannels: from.tile.extents[1],
    sourceFirst: from.first,
    sourceLayout: layoutCode(from.tile.layout),
    destinationChannels: to.tile.extents[1],
    destinationFirst: to.first,
    destinationLayout: layoutCode(to.tile.layout)
  }) as const

/** Each operand with its first channel in the whole. */
const placesOf = (operands: readonly TileTensor[]): readonly { readonly tile: TileTensor; readonly first: number }[] =>
  operands.map((tile, index) => ({ tile, first: operands.slice(0, index).reduce((sum, { extents }) => sum + extents[1], 0) }))

export const concat: OpLowering<'concat'> = {
  access: sameAccess,
  saves: {},
  inPlace: false,
  // Flat tensors stay plain, as linear layers and losses read them.
  outputLayout: ({ device }, source, { output }) =>
    source === 'plain' && output[2] === 1 && output[3] === 1 ? 'plain' : device.activationLayout(output[1], false),
  forward: ({ builder, activationBytes }, { sources, destination }) => {
    const { layout, extents } = destination
    const places = placesOf(sources)
    if (places.some(({ tile, first }) => !channelsAreApart(layout, extents[1], first, tile.extents[1])))
      builder.launch<'zero'>({ kind: 'zero', bytes: tensorBytes(layout, extents, activationBytes) }, { destination: destination.address })
    for (const { tile, first } of places)
      builder.launch<'copyChannels'>(copyFields(tile, { tile, first: 0 }, { tile: destination, first }), {
        source: tile.address,
        destination: destination.address
      })
  },
  backward: ({ builder }, step, { destination, sources }) =>
    placesOf(step.sources).forEach(({ first }, operand) => {
      const tile = sources[operand]
      if (tile === undefined) return
      builder.launch<'copyChannels'>(copyFields(tile, { tile: destination!, first }, { tile, first: 0 }), {
        source: destination!.address,
        destination: tile.address
      })
    })
}
