/**
 * Memory layouts of tensors on a device, and the elements that each takes, channel padding
 * included. The position of a name in `layouts` is its code in a Program;
 * native/src/kernels/layout.hpp lists the same names.
 */
export const layouts = [
  'plain', // row-major: nchw, oihw, or any other rank
  'nChw8c',
  'nChw16c',
  'OIhw8i8o',
  'OIhw16i16o',
  'OIhw8o8i',
  'OIhw16o16i',
  'IOhw8o8i',
  'IOhw16o16i',
  'Ohwi8o',
  'Ohwi16o',
  'Goihw8g',
  'Goihw16g',
  'winogradForward', // weights of 3 x 3 taps, transformed to 6 x 6 products of F(4x4, 3x3); nothing reads them but algorithm 1
  'winogradBackward',
  'nhwc', // activations, channels innermost
  'ohwi', // weights [out][kernel height][kernel width][in of the group]
  'OIhw8i16o2i', // weights of bf16, of which products take two at a time
  'OIhw8o16i2o',
  'IOhw8o16i2o',
  'Ohwi16o2i',
  'OIhw16i16o2i', // the same in matrices of 32 rows, which AMX multiplies
  'IOhw16o16i2o',
  'winograd6Forward', // as winogradForward, to 8 x 8 products of F(6x6, 3x3)
  'winograd6Backward'
] as const

/** The name of an order in which a tensor's elements lie in memory. */
export type Layout = (typeof layouts)[number]

/**
 * Channels (activations), or output channels, input channels, groups (weights), padded up to these
 * multiples.
 */
interface Blocks {
  readonly channels?: number
  readonly out?: number
  readonly in?: number
  readonly groups?: number
  /** Of weights that are transformed for Winograd: the elements of a pair of channels. */
  readonly positions?: number
}

const blocks: { readonly [L in Layout]: Blocks } = {
  plain: {},
  nChw8c: { channels: 8 },
  nChw16c: { channels: 16 },
  OIhw8i8o: { out: 8, in: 8 },
  OIhw16i16o: { out: 16, in: 16 },
  OIhw8o8i: { out: 8, in: 8 },
  OIhw16o16i: { out: 16, in: 16 },
  IOhw8o8i: { out: 8, in: 8 },
  IOhw16o16i: { out: 16, in: 16 },
  Ohwi8o: { out: 8 },
  Ohwi16o: { out: 16 },
  Goihw8g: { groups: 8 },
  Goihw16g: { groups: 16 },
  winogradForward: { out: 16, in: 16, positions: 36 },
  winogradBackward: { out: 16, in: 16, positions: 36 },
  nhwc: {},
  ohwi: {},
  OIhw8i16o2i: { out: 16, in: 16 },
  OIhw8o16i2o: { out: 16, in: 16 },
  IOhw8o16i2o: { out: 16, in: 16 },
  Ohwi16o2i: { out: 16, in: 2 },
  OIhw16i16o2i: { out: 16, in: 32 },
  IOhw16o16i2o: { out: 32, in: 16 },
  winograd6Forward: { out: 16, in: 16, positions: 64 },
  winograd6Backward: { out: 16, in: 16, positions: 64 }
}

/** A layout's number in the fields of kernels. */
export const layoutCode = (layout: Layout): number => layouts.indexOf(layout)

/** A number rounded up to a multiple; to itself where it need be none. */
export const roundUp = (value: number, multiple = 1): number => Math.ceil(value / multiple) * multiple

/** How many of an activation's channels lie next to each other (1 when plain). */
export const channelBlock = (layout: Layout, channels: number): number => (layout === 'nhwc' ? channels : (blocks[layout].channels ?? 1))

/** Results along an axis of Winograd's whole tiles: of F(4x4, 3x3) or of F(6x6, 3x3). */
export type LargestTile = 4 | 6

/** The layouts of weights that are transformed for such tiles, by the direction that reads them. */
const transformedLayouts = {
  forward: { 4: 'winogradForward', 6: 'winograd6Forward' },
  backward: { 4: 'winogradBackward', 6: 'winograd6Backward' }
} as const satisfies { readonly [D in 'forward' | 'backward']: { readonly [L in LargestTile]: Layout } }

/** Those of a convolution, one for each direction. */
export type TransformedLayouts = { readonly [D in keyof typeof transformedLayouts]: (typeof transformedLayouts)[D][LargestTile] }

/** Those for such tiles. */
export const transformedFor = (forward: LargestTile, backward: LargestTile): TransformedLayouts => ({
  forward: transformedLayouts.forward[forward],
  backward: transformedLayouts.backward[backward]
})

/** Any of them. */
export type TransformedLayout = TransformedLayouts[keyof TransformedLayouts]

/**
 * Whether weights in this layout are transformed for Winograd: they keep the parameters' type.
 */
export const isTransformed = (layout: Layout): layout is TransformedLayout => blocks[layout].positions !== undefined

/** The whole tiles that weights in this layout are transformed for. */
export const tileOf = (layout: TransformedLayout): LargestTile => (blocks[layout].positions === 64 ? 6 : 4)

/**
 * Whether blocks of an image's channels lie one after the other: some of them are then a range of
 * its memory.
 */
export const isPlanar = (layout: Layout): boolean => layout === 'plain' || blocks[layout].channels !== undefined

/** Elements of an activation [B, C, ...spatial], channels padded to the layout's block. */
export const activationElements = (layout: Layout, shape: readonly number[]): number =>
  shape.reduce((product, extent, axis) => product * (axis === 1 ? roundUp(extent, blocks[layout].channels) : extent), 1)

/**
 * Tells whether channels of an activation [B, C, ...spatial] share no block with others: those from
 * `first` on, `count` of them.
 */
export const fillWholeBlocks = (layout: Layout, channels: number, first: number, count: number): boolean => {
  const block = blocks[layout].channels ?? 1
  return first % block === 0 && (count % block === 0 || first + count === channels)
}

/**
 * Elements of convolution weights: `groups` matrices of [out/groups, in/groups, kh, kw], each
 * padded to the layout's blocks.
 */
export const weightElements = (
  layout: Layout,
  [out, inPerGroup, kernelHeight, kernelWidth]: readonly [number, number, number, number],
  groups: number
): number =>
  roundUp(groups, blocks[layout].groups) *
  roundUp(out / groups, blocks[layout].out) *
  roundUp(inPerGroup, blocks[layout].in) *
  (blocks[layout].positions ?? kernelHeight * kernelWidth)
