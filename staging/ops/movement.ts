import { padModes, toWindow } from '../../dsl/internal'
import { imageAccess, sameAccess } from '../graph/access'
import { layoutCode } from '../kernels/layout'
import type { TileTensor } from '../lowering/ir/tile-tensor'
import type { OpStep } from '../lowering/scope/op-step'
import type { TileScope } from '../lowering/scope/scope'
import { sameLayout, type NodeFor, type OpLowering } from './op-lowering'
import { resamplingFields, resamplingOrigins } from './resampling'

/**
 * A tile of few channels and one of factor^2 times as many, which begins so many of the first one's
 * rows and columns before it.
 */
interface Shuffled {
  readonly fine: TileTensor
  readonly coarse: TileTensor
  readonly factor: number
  readonly before: readonly [rows: number, columns: number]
}

const shuffle = ({ builder }: TileScope, { fine, coarse, factor, before }: Shuffled, inverse: 0 | 1): void => {
  const [batch, channels, height, width] = fine.extents
  const [source, destination] = inverse === 1 ? [fine, coarse] : [coarse, fine]
  builder.launch<'pixelShuffle'>(
    {
      kind: 'pixelShuffle',
      ...{ batch, channels, height, width, factor, inverse },
      coarseHeight: coarse.extents[2],
      coarseWidth: coarse.extents[3],
      rowsBefore: before[0],
      columnsBefore: before[1],
      sourceLayout: layoutCode(source.layout),
      destinationLayout: layoutCode(destination.layout)
    },
    { source: source.address, destination: destination.address }
  )
}

/** A tile may begin and end within the rows and columns that one pixel of the input becomes. */
export const pixelShuffle: OpLowering<'pixelShuffle'> = {
  access: ({ factor }) =>
    imageAccess(() => ({ kind: 'transposedWindow', apart: false, kernel: factor, stride: factor, dilation: 1, padBefore: 0 })),
  saves: {},
  inPlace: false,
  outputLayout: ({ device }, _, { output }) => device.activationLayout(output[1], false),
  forward: (scope, { node: { args }, source, destination, rows, columns }) =>
    shuffle(scope, { fine: destination, coarse: source, ...args, before: [rows.padBefore, columns.padBefore] }, 0),
  backward: (scope, { node: { args }, rows, columns }, { destination, source }) =>
    shuffle(scope, { fine: destination!, coarse: source!, ...args, before: [rows.padBefore, columns.padBefore] }, 1)
}

/** Squares of factor x factor pixels become as many channels. */
export const pixelUnshuffle: OpLowering<'pixelUnshuffle'> = {
  access: ({ factor }) => imageAccess(() => ({ kind: 'window', kernel: factor, stride: factor, dilation: 1, padBefore: 0, padAfter: 0 })),
  saves: {},
  inPlace: false,
  outputLayout: ({ device }, _, { output }) => device.activationLayout(output[1], false),
  forward: (scope, { node: { args }, source, destination }) =>
    shuffle(scope, { fine: source, coarse: destination, ...args, before: [0, 0] }, 1),
  backward: (scope, { node: { args } }, { destination, source }) =>
    shuffle(scope, { fine: source!, coarse: destination!, ...args, before: [0, 0] }, 0)
}

/** Channels of `groups` groups interleaved; so many groups of the gradient's are taken back. */
const shuffleChannels = ({ builder }: TileScope, source: TileTensor, destination: TileTensor, groups: number): void => {
  const [batch, channels, height, width] = destination.extents
  builder.launch<'channelShuffle'>(
    { kind: 'channelShuffle', ...{ batch, channels, height, width, groups }, layout: layoutCode(destination.layout) },
    { source: source.address, destination: destination.address }
  )
}

/** Interleaves the channels of groups; the gradient is taken back by the other factor. */
export const channelShuffle: OpLowering<'channelShuffle'> = {
  access: sameAccess,
  saves: {},
  inPlace: false,
  outputLayout: sameLayout,
  forward: (scope, { node: { args }, source, destination }) => shuffleChannels(scope, source, destination, args.groups),
  backward: (scope, { node: { args } }, { destination, source }) =>
    shuffleChannels(scope, destination!, source!, source!.extents[1] / args.groups)
}

/** Channel c of the destination is channel c + offset of the source, or zero. */
const shiftChannels = ({ builder }: TileScope, source: TileTensor, destination: TileTensor, offset: number): void => {
  const [batch, channels, height, width] = destination.extents
  builder.launch<'shiftChannels'>(
    {
      kind: 'shiftChannels',
      ...{ batch, channels, height, width, offset },
      sourceChannels: source.extents[1],
      sourceLayout: layoutCode(source.layout),
      destinationLayout: layoutCode(destination.layout)
    },
    { source: source.address, destination: destination.address }
  )
}

/** Some of the channels, from `start` on; the gradient of the others is 0. */
export const narrow: OpLowering<'narrow'> = {
  access: sameAccess,
  saves: {},
  inPlace: false,
  outputLayout: ({ device }, _, { output }) => device.activationLayout(output[1], false),
  forward: (scope, { node: { args }, source, destination }) => shiftChannels(scope, source, destination, args.start),
  backward: (scope, { node: { args } }, { destination, source }) => shiftChannels(scope, destination!, source!, 0 - args.start)
}

const padFields = (step: OpStep<NodeFor<'pad'>>) => {
  const { p, mode = 'zeros' } = step.node.args
  const { top, left } = toWindow({ k: 1, p }).padding
  return { padTop: top, padLeft: left, mode: padModes.indexOf(mode), ...resamplingFields(step) }
}

/**
 * Padding by absolute coordinates, so that a tile finds what the whole finds; backward adds up the
 * gradients of all places that show the same pixel.
 */
export const pad: OpLowering<'pad'> = {
  access: ({ p, mode = 'zeros' }) => {
    const { top, bottom, left, right } = toWindow({ k: 1, p }).padding
    return imageAccess((index) => ({ kind: 'pad', mode, before: [top, left][index]!, after: [bottom, right][index]! }))
  },
  saves: {},
  inPlace: false,
  outputLayout: sameLayout,
  forward: ({ builder }, step) =>
    builder.launch<'padForward'>(
      { kind: 'padForward', ...padFields(step) },
      { source: step.source.address, destination: step.destination.address, ...resamplingOrigins(step) }
    ),
  backward: ({ builder }, step, { destination, source }) =>
    builder.launch<'padBackward'>(
      { kind: 'padBackward', ...padFields(step) },
      { destinationGradient: destination!.address, sourceGradient: source!.address, ...resamplingOrigins(step) }
    )
}
