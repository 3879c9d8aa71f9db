import type { Expression } from '../../dsl/internal'
import { sameAccess } from '../graph/access'
import { extentsOfTensor } from '../graph/graph'
import { activationElements, fillWholeBlocks, isPlanar, layoutCode } from '../kernels/layout'
import type { KernelOf } from '../kernels/kernels'
import { getPointwiseFunctions } from '../pointwise/functions'
import { noOperand, type UnplacedOperand } from '../lowering/ir/builder'
import type { TileTensor } from '../lowering/ir/tile-tensor'
import { freshTile, inLayout, reorderTile } from '../lowering/scope/copies'
import type { OpStep } from '../lowering/scope/op-step'
import { tensorBytes, tileFields } from '../lowering/scope/regions'
import type { ModelScope, TileScope } from '../lowering/scope/scope'
import { sameLayout, type NodeFor, type OpLowering } from './op-lowering'

type Join = 'add' | 'mul'
type JoinStep = OpStep<NodeFor<Join>>

/** An op that is an expression of two tiles; the second may be one value an image and channel. */
const joinWith = (expression: Expression, saves: OpLowering<Join>['saves']): Omit<OpLowering<Join>, 'variant'> => {
  const { forward, backward } = getPointwiseFunctions({ expression })
  return {
    access: sameAccess,
    saves,
    inPlace: false,
    outputLayout: sameLayout,
    forward: (scope, step) => {
      const { destination } = step
      const [source, second] = [operandIn(scope, step, 0), operandIn(scope, step, 1)]
      scope.builder.launch<'pointwiseForward'>(
        { kind: 'pointwiseForward', ...joinFields(step, destination), expression: forward },
        { source, second, ...noParameters, destination: destination.address }
      )
    },
    backward: (scope, step, { destination, sources: [first, second] }) => {
      // Each is read for the gradient of the other alone.
      const readFor = (wanted: TileTensor | undefined, operand: 0 | 1) =>
        saves.input === undefined || wanted === undefined ? noOperand : operandIn(scope, step, operand)
      const [kept, other] = [readFor(second, 0), readFor(first, 1)]
      const { address: destinationGradient } = inLayout(scope, destination!, step.destination.layout)
      const emitSecond = step.node.broadcast ? emitSumOverPixels : emitGradient
      if (second !== undefined) emitSecond(scope, step, { kept, second: noOperand, destinationGradient }, backward('second'), second)
      if (first !== undefined) emitGradient(scope, step, { kept: noOperand, second: other, destinationGradient }, backward('input'), first)
    }
  }
}

/** An operand in the output's layout; a second one that is broadcast is plain. */
const operandIn = (scope: TileScope, { node, sources, destination: { layout } }: JoinStep, operand: 0 | 1) =>
  inLayout(scope, sources[operand]!, operand === 1 && node.broadcast ? 'plain' : layout).address

const joinFields = ({ node }: JoinStep, tile: TileTensor) => ({
  ...tileFields(tile),
  broadcast: node.broadcast ? 1 : 0,
  weightPerChannel: 0,
  biasPerChannel: 0
})

const noParameters = { weight: noOperand, bias: noOperand } as const

type Read = { readonly [operand in 'kept' | 'second' | 'destinationGradient']: UnplacedOperand }

/** The gradient of an operand that is a tile, in the layout in which it is wanted. */
const emitGradient = (scope: TileScope, step: JoinStep, read: Read, expression: readonly number[], wanted: TileTensor): void => {
  const { layout } = step.destination
  const made = wanted.layout === layout ? wanted : freshTile(scope, { kind: 'reordered-gradient' }, wanted.extents, layout)
  scope.builder.launch<'pointwiseBackward'>(
    { kind: 'pointwiseBackward', ...joinFields(step, made), expression },
    { ...read, ...noParameters, sourceGradient: made.address }
  )
  if (made !== wanted) reorderTile(scope.builder, made, wanted)
}

/** The gradient of a second operand that is broadcast: a sum over the pixels. */
const emitSumOverPixels = (scope: TileScope, step: JoinStep, read: Read, expression: readonly number[], wanted: TileTensor): void => {
  const sums = wanted.layout === 'plain' ? wanted : freshTile(scope, { kind: 'broadcast-gradient' }, wanted.extents, 'plain')
  scope.builder.launch<'pointwiseSum'>(
    { kind: 'pointwiseSum', ...joinFields(step, step.destination), rows: 2, expression },
    { ...read, ...noParameters, sum: sums.address }
  )
  if (sums !== wanted) reorderTile(scope.builder, sums, wanted)
}

const broadcastAdd = joinWith([['input'], ['second'], ['add', 0, 1]], {})
/** Multiplies two tensors; each operand's gradient is the output's times the other operand. */
export const mul = joinWith([['input'], ['second'], ['mul', 0, 1]], { input: 'for-others' })

/** Adds two tensors, the second one perhaps broadcast from [B, C, 1, 1]; the gradient passes on. */
export const add: OpLowering<'add'> = {
  access: sameAccess,
  saves: {},
  inPlace: true,
  fusesRectifier: 'forward',
  variant: ({ broadcast }) => (broadcast ? broadcastAdd : undefined),
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

/** A tensor, or a tile of one, wherever it lies. */
export type TileShape = Pick<TileTensor, 'extents' | 'layout'>

/** The channels of one tile to, or from, those of another from `first` on. */
const copyFields = (
  { extents: [batch, count, height, width] }: TileShape,
  from: { readonly tile: TileShape; readonly first: number },
  to: { readonly tile: TileShape; readonly first: number }
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

/** Returns each operand with its first channel in the whole. */
export const channelOffsets = <T extends TileShape>(operands: readonly T[]): readonly { readonly tile: T; readonly first: number }[] =>
  operands.map((tile, index) => ({ tile, first: operands.slice(0, index).reduce((sum, { extents }) => sum + extents[1], 0) }))

/** The inputs of an op that joins them, and what it makes of them, in a step without tiles. */
export const joinedTensors = (
  { graph, layouts }: Pick<ModelScope, 'graph' | 'layouts'>,
  join: number
): { readonly operands: readonly TileShape[]; readonly whole: TileShape } => {
  const { inputs, output } = graph.nodes[join]!
  return {
    operands: inputs.map((tensor) => ({ extents: extentsOfTensor(graph, tensor), layout: layouts[tensor]! })),
    whole: { extents: output, layout: layouts[join + 1]! }
  }
}

/** Whether each operand fills whole blocks of the channels of what joins it to the others. */
const fillBlocks = (operands: readonly TileShape[], { extents, layout }: TileShape): boolean =>
  channelOffsets(operands).every(({ tile, first }) => fillWholeBlocks(layout, extents[1], first, tile.extents[1]))

/** Whether each operand's channels lie together, by themselves, in a whole of one image. */
export const channelsLieTogether = (operands: readonly TileShape[], whole: TileShape): boolean =>
  whole.extents[0] === 1 && isPlanar(whole.layout) && fillBlocks(operands, whole)

/** The kernel that copies an operand to its place in the whole that joins it to the others. */
export const copyToJoin = (operands: readonly TileShape[], operand: number, whole: TileShape): KernelOf<'copyChannels'> => {
  const { tile, first } = channelOffsets(operands)[operand]!
  return copyFields(tile, { tile, first: 0 }, { tile: whole, first })
}

/** The kernel that copies an operand's part of the whole, or of its gradient, out of that. */
export const copyFromJoin = (operands: readonly TileShape[], operand: number, whole: TileShape): KernelOf<'copyChannels'> => {
  const { tile, first } = channelOffsets(operands)[operand]!
  return copyFields(tile, { tile: whole, first }, { tile, first: 0 })
}

/** Bytes from the beginning of a whole, of one image, to the channels of an operand. */
export const joinedOffset = (
  operands: readonly TileShape[],
  operand: number,
  { extents: [images, , height, width], layout }: TileShape,
  elementBytes: number
): number => tensorBytes(layout, [images, channelOffsets(operands)[operand]!.first, height, width], elementBytes)

/** Whether a part lies where it belongs in a whole, so many bytes from its beginning. */
const isThere = ({ address: part }: TileTensor, { address: whole }: TileTensor, bytes: number): boolean =>
  part.space === 'arena' && whole.space === 'arena' && part.buffer === whole.buffer && part.base === whole.base + bytes

/** Joins tensors along their channels. */
export const concat: OpLowering<'concat'> = {
  access: sameAccess,
  saves: {},
  inPlace: false,
  joinsChannels: true,
  // Flat tensors stay plain, as linear layers and losses read them.
  outputLayout: ({ device }, source, { output }) =>
    source === 'plain' && output[2] === 1 && output[3] === 1 ? 'plain' : device.activationLayout(output[1], false),
  forward: ({ builder, activationBytes }, { sources, destination }) => {
    const { layout, extents, address } = destination
    if (!fillBlocks(sources, destination))
      builder.launch<'zero'>({ kind: 'zero', bytes: tensorBytes(layout, extents, activationBytes) }, { destination: address })
    sources.forEach((source, operand) => {
      if (isThere(source, destination, joinedOffset(sources, operand, destination, activationBytes))) return
      builder.launch<'copyChannels'>(copyToJoin(sources, operand, destination), { source: source.address, destination: address })
    })
  },
  backward: ({ builder, activationBytes }, step, { destination, sources }) => {
    const whole = destination!
    const operands = step.sources.map((source, operand) => sources[operand] ?? source)
    sources.forEach((tile, operand) => {
      if (tile === undefined || isThere(tile, whole, joinedOffset(operands, operand, whole, activationBytes))) return
      builder.launch<'copyChannels'>(copyFromJoin(operands, operand, whole), { source: whole.address, destination: tile.address })
    })
  }
}
