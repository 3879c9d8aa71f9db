import { sameAccess } from '../../graph/access'
import { activationElements, channelsAreApart, layoutCode } from '../../kernels/layout'
import { functionsOf } from '../../pointwise/functions'
import { none, type UnplacedOperand } from '../ir/builder'
import type { TileTensor } from '../ir/tile-tensor'
import { freshTile, inLayout, reorderTile } from '../scope/copies'
import type { Step } from '../scope/op-step'
import { tensorBytes, tileFields } from '../scope/regions'
import type { TileScope } from '../scope/scope'
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

const sum = functionsOf({ expression: [['input'], ['second'], ['add', 0, 1]] })
const product = functionsOf({ expression: [['input'], ['second'], ['mul', 0, 1]] })

/** Fields of an expression over a tile and a second one, which may be one value an image and channel. */
const joinFields = ({ node }: Step, tile: TileTensor) => ({
  ...tileFields(tile),
  broadcast: node.broadcast ? 1 : 0,
  weightPerChannel: 0,
  biasPerChannel: 0
})

/** The operands, the first in the output's layout, and the second in it too, or plain where it is broadcast. */
const joined = (scope: TileScope, { node, sources, destination: { layout } }: Step) =>
  [inLayout(scope, sources[0]!, layout), inLayout(scope, sources[1]!, node.broadcast ? 'plain' : layout)] as const

const noParameters = { weight: none, bias: none } as const

/** The gradient of a second operand that is broadcast: a sum over the pixels. */
const sumOverPixels = (
  scope: TileScope,
  step: Step,
  read: { readonly kept: UnplacedOperand; readonly destinationGradient: UnplacedOperand },
  expression: readonly number[],
  wanted: TileTensor
): void => {
  const sums = wanted.layout === 'plain' ? wanted : freshTile(scope, { kind: 'broadcast-gradient' }, wanted.extents, 'plain')
  scope.builder.launch<'pointwiseSum'>(
    { kind: 'pointwiseSum', ...joinFields(step, step.destination), rows: 2, expression },
    { ...read, second: none, ...noParameters, sum: sums.address }
  )
  if (sums !== wanted) reorderTile(scope.builder, sums, wanted)
}

/** The second operand is one value an image and channel. */
export const broadcastAdd: OpLowering<'add'> = {
  access: sameAccess,
  saves: {},
  inPlace: false,
  outputLayout: sameLayout,
  forward: (scope, step) => {
    const [source, second] = joined(scope, step)
    scope.builder.launch<'pointwiseForward'>(
      { kind: 'pointwiseForward', ...joinFields(step, step.destination), expression: sum.forward },
      { source: source.address, second: second.address, ...noParameters, destination: step.destination.address }
    )
  },
  backward: (scope, step, { destination, sources }) => {
    const read = { kept: none, destinationGradient: destination!.address }
    const [first, second] = sources
    if (second !== undefined) sumOverPixels(scope, step, read, sum.backward('second'), second)
    if (first !== undefined)
      scope.builder.launch<'pointwiseBackward'>(
        { kind: 'pointwiseBackward', ...joinFields(step, first), expression: sum.backward('input') },
        { ...read, second: none, ...noParameters, sourceGradient: first.address }
      )
  }
}

/** Each operand's gradient is the output's times the other operand. */
export const mul: OpLowering<'mul'> = {
  access: sameAccess,
  saves: { input: 'always' },
  inPlace: false,
  outputLayout: sameLayout,
  forward: (scope, step) => {
    const [source, second] = joined(scope, step)
    scope.builder.launch<'pointwiseForward'>(
      { kind: 'pointwiseForward', ...joinFields(step, step.destination), expression: product.forward },
      { source: source.address, second: second.address, ...noParameters, destination: step.destination.address }
    )
  },
  backward: (scope, step, { destination, sources }) => {
    const [first, second] = sources
    const [kept, other] = joined(scope, step)
    const { address: destinationGradient } = inLayout(scope, destination!, step.destination.layout)
    const read = { kept: kept.address, destinationGradient }
    if (second !== undefined && step.node.broadcast) sumOverPixels(scope, step, read, product.backward('second'), second)
    else if (second !== undefined) productGradient(scope, step, { ...read, second: none }, product.backward('second'), second)
    if (first !== undefined)
      productGradient(scope, step, { kept: none, destinationGradient, second: other.address }, product.backward('input'), first)
  }
}

/** The gradient of an operand that is a tile, in the layout in which it is wanted. */
const productGradient = (
  scope: TileScope,
  step: Step,
  read: { readonly kept: UnplacedOperand; readonly second: UnplacedOperand; readonly destinationGradient: UnplacedOperand },
  expression: readonly number[],
  wanted: TileTensor
): void => {
  const { layout } = step.destination
  const made = wanted.layout === layout ? wanted : freshTile(scope, { kind: 'reordered-gradient' }, wanted.extents, layout)
  scope.builder.launch<'pointwiseBackward'>(
    { kind: 'pointwiseBackward', ...joinFields(step, made), expression },
    { ...read, ...noParameters, sourceGradient: made.address }
  )
  if (made !== wanted) reorderTile(scope.builder, made, wanted)
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
