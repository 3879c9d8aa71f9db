import { gathersMoments, isNormalisation, isWithinTile, normalisationOf, type Normalisation } from '../normalisation'
import type { Segment } from '../plan'
import type { BoundSegment, Pass } from './bound-segment'
import type { Context, Step } from './context'
import { at, moved, type Buffer, type Emitter, type UnplacedOperand } from './emitter'
import { allOf, copyPart, isSameRegion, ownedRegionOf, regionExtents, regionOf, tensorBytes, tileFields, within } from './tensors'
import type { Body, Region, TileTensor } from './tile-tensor'

const momentBytes = 24
/** Of a channel's maximum, and where it stands. */
const maximumBytes = 16
/** Of a channel's sums for the gradients of a normalisation. */
export const sumBytes = 16

export const rowsOf = (node: Normalisation): number => {
  const { groups, perImage } = normalisationOf(node)
  return perImage === 1 ? node.input[0] * groups : groups
}

/** A place for the moments of every op that gathers them, and for the maxima of those that pool whole images. */
export const openMoments = ({ graph, emit }: Pick<Context, 'graph' | 'emit'>): ReadonlyMap<number, Buffer> =>
  new Map(
    graph.nodes.flatMap((node, position) => {
      const place = (what: string, bytes: number) => [[position, emit.buffer(`${what} of ${node.name}`, bytes, 'statistics')] as const]
      if (node.op === 'globalMaxPool') return place('maxima', node.input[0] * node.input[1] * maximumBytes)
      return isNormalisation(node) && gathersMoments(node) ? place('moments', rowsOf(node) * momentBytes) : []
    })
  )

/** Where the maxima of a tile's images lie. */
export const maximaAt = ({ moments }: Context, { node: { input }, position, sourceRegion: { from, advance } }: Step): UnplacedOperand => {
  const bytesPerImage = input[1] * maximumBytes
  return moved(at(moments.get(position)!), from[0] * bytesPerImage, [advance[0] * bytesPerImage, 0, 0])
}

/** Rows of statistics of a tile's images: all of them, unless images have their own. */
export const rowsOfTile = (
  base: UnplacedOperand,
  node: Normalisation,
  { from, advance }: Region,
  bytesPerImage: number
): UnplacedOperand =>
  normalisationOf(node).perImage === 1 ? moved(base, from[0] * bytesPerImage, [advance[0] * bytesPerImage, 0, 0]) : base

/** Where a tile's moments lie. */
export const momentsAt = ({ moments }: Context, node: Normalisation, position: number, region: Region): UnplacedOperand =>
  rowsOfTile(at(moments.get(position)!), node, region, normalisationOf(node).groups * momentBytes)

const zero = (emit: Emitter, { bytes }: Buffer, destination: UnplacedOperand): void =>
  emit.launch<'zero'>({ kind: 'zero', bytes }, { destination })

/** Positions of the ops that gather moments of a tensor that a span makes, or loads. */
const gatheringFrom = ({ graph }: Context, { from, to }: Segment): readonly number[] => {
  const made = Array.from({ length: to - from }, (_, index) => from + 1 + index).flatMap((tensor) => graph.readers[tensor]!)
  const loading = graph.readers[0]!.filter((position) => from <= position && position < to)
  return [...loading, ...made].filter((position) => gathersMoments(graph.nodes[position]!)).sort((a, b) => a - b)
}

/** Before the tiles of a pass: what they add to starts at zero. */
export const zeroMoments = (context: Context, segment: Segment): void =>
  [...gatheringFrom(context, segment), ...poolingIn(context, segment)].forEach((position) => {
    const buffer = context.moments.get(position)!
    zero(context.emit, buffer, at(buffer))
  })

/** Positions of a span's ops that gather maxima. */
const poolingIn = ({ graph }: Context, { from, to }: Segment): readonly number[] =>
  Array.from({ length: to - from }, (_, index) => from + index).filter((position) => graph.nodes[position]!.op === 'globalMaxPool')

/** The ops that gather moments of a tensor in this pass. Recomputation leaves moments as they are. */
const gatheringOf = ({ graph }: Context, { from, to }: Segment, { mode }: Pick<Pass, 'mode'>, tensor: number): readonly number[] =>
  mode === 'recompute' || mode === 'repeat'
    ? []
    : graph.readers[tensor]!.filter((reader) => gathersMoments(graph.nodes[reader]!) && (tensor > 0 || (from <= reader && reader < to)))

const addMoments = (context: Context, positions: readonly number[], source: TileTensor, region: Region): void => {
  for (const position of positions) {
    const node = context.graph.nodes[position] as Normalisation
    const { groups, perImage } = normalisationOf(node)
    context.emit.launch<'momentsForward'>(
      { kind: 'momentsForward', groups, perImage, ...tileFields(source) },
      { source: source.address, moments: momentsAt(context, node, position, region) }
    )
  }
}

/** Adds what a tile owns of a tensor to the moments of all that normalise it. */
export const gatherMoments = (
  context: Context,
  { segment }: BoundSegment,
  body: Body,
  pass: Pass,
  tensor: number,
  tile: TileTensor
): void => {
  const { emit, activationBytes } = context
  const wanted = gatheringOf(context, segment, pass, tensor)
  if (wanted.length === 0) return
  const [region, owned] = [regionOf(body, tensor), ownedRegionOf(body, tensor)]
  let source = tile
  if (!isSameRegion(region, owned)) {
    const extents = regionExtents(owned, tile.extents[1])
    const buffer = emit.buffer('the owned part of a tile', tensorBytes(tile.layout, extents, activationBytes))
    source = { address: at(buffer), extents, layout: tile.layout }
    copyPart(emit, { tensor: tile, region: within(region, owned) }, allOf(source), 0, activationBytes)
  }
  addMoments(context, wanted, source, owned)
}

/** The same of a tensor to which all tiles of a pass have added. */
export const gatherMomentsOfSum = (
  context: Context,
  { segment }: BoundSegment,
  pass: Pick<Pass, 'mode'>,
  tensor: number,
  sum: TileTensor
): void => addMoments(context, gatheringOf(context, segment, pass, tensor), sum, allOf(sum).region)

/** After the tiles of a pass that gathered moments: running statistics take them in, once a step. */
export const updateRunning = (context: Context, segment: Segment): void =>
  gatheringFrom(context, segment).forEach((position) => {
    const { emit, graph, moments, parameters } = context
    const node = graph.nodes[position]!
    if (node.op !== 'batchNorm') return
    const { mean, variance } = parameters[position]!
    emit.launch<'updateRunning'>(
      { kind: 'updateRunning', channels: node.input[1], momentum: node.args.momentum ?? 0.1 },
      { moments: at(moments.get(position)!), mean: at(mean!.buffer), variance: at(variance!.buffer) }
    )
  })

/** The context of a pass over a segment whose frozen normalisations find moments made of their running statistics. */
export const withFrozenMoments = (context: Context, { from, to }: Segment, runs: (position: number) => boolean): Context => {
  const { emit, graph, parameters } = context
  const frozen = graph.nodes.slice(from, to).flatMap((node, index) => {
    const position = from + index
    return isNormalisation(node) && !gathersMoments(node) && runs(position) ? [{ node, position }] : []
  })
  if (frozen.length === 0) return context
  const made = frozen.map(({ node, position }) => {
    const moments = emit.buffer(`running moments of ${node.name}`, node.input[1] * momentBytes)
    const { mean, variance } = parameters[position]!
    emit.launch<'momentsOfRunning'>(
      { kind: 'momentsOfRunning', channels: node.input[1] },
      { mean: at(mean!.buffer), variance: at(variance!.buffer), moments: at(moments) }
    )
    return [position, moments] as const
  })
  return { ...context, moments: new Map([...context.moments, ...made]) }
}

/** Whether the gradient of a normalisation's input waits until that of its output is complete: its moments go beyond a tile. */
export const isPending = ({ segment }: Pick<BoundSegment, 'segment'>, node: Normalisation): boolean =>
  gathersMoments(node) && !isWithinTile(node, segment.grid)
