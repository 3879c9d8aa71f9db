import { tileIdentity } from '../ir/buffer-identity'
import { sharesMicroBatches } from '../../graph/objective'
import type { Graph, Statistics } from '../../graph/graph'
import { findShard } from '../../graph/shard'
import { accumulatesStatistics, isWithinTile, updatesRunning, type NormalisationNode } from '../../graph/statistics'
import type { Segment } from '../../plans/plan'
import type { Pass } from './bound-segment'
import type { TilePass } from './tile-pass'
import type { ModelScope } from '../scope/scope'
import { arenaOperand, offsetBy, zeroStrides, type Buffer, type UnplacedOperand } from '../ir/builder'
import { wholePart, isSameRegion, regionExtents, tensorBytes, tileFields, within } from '../scope/regions'
import { copyPart, zeroBuffer } from '../scope/copies'
import type { Region, TileTensor } from '../ir/tile-tensor'
import { getNodeLowering } from '../../ops'
import { momentBytes, momentsAt } from '../../ops/moment-addresses'
import { joinedChannels, type MeasuredChannels } from './joined-moments'

/** Positions of the ops that accumulate moments of a tensor that a span makes, or loads. */
const accumulatingFrom = ({ graph }: ModelScope, { from, to }: Segment): readonly number[] => {
  const made = Array.from({ length: to - from }, (_, index) => from + 1 + index).flatMap((tensor) => graph.readers[tensor]!)
  const loading = graph.readers[0]!.filter((position) => from <= position && position < to)
  return [...loading, ...made].filter((position) => accumulatesStatistics(graph.nodes[position]!)).sort((a, b) => a - b)
}

/** Positions of a span's ops that accumulate maxima. */
const poolingIn = ({ graph }: ModelScope, { from, to }: Segment): readonly number[] =>
  Array.from({ length: to - from }, (_, index) => from + index).filter((position) => graph.nodes[position]!.accumulatesMaxima)

/** Before the tiles of a pass: what they add to starts at zero. */
export const zeroMoments = (scope: ModelScope, segment: Segment): void =>
  [...accumulatingFrom(scope, segment), ...poolingIn(scope, segment)].forEach((position) =>
    zeroBuffer(scope.builder, scope.moments.get(position)!)
  )

/**
 * The ops that accumulate moments of a tensor in this pass. Recomputation leaves them as they are.
 */
export const findMomentAccumulators = (
  { graph }: ModelScope,
  { from, to }: Segment,
  { mode }: Pick<Pass, 'mode'>,
  tensor: number
): readonly number[] =>
  mode === 'recompute' || mode === 'rematerialize'
    ? []
    : graph.readers[tensor]!.filter(
        (reader) => accumulatesStatistics(graph.nodes[reader]!) && (tensor > 0 || (from <= reader && reader < to))
      )

/** Adds the moments of some channels to those of an op, or writes there what another op knows. */
const addChannels = (
  { builder, moments: buffers }: ModelScope,
  { perImage }: Statistics,
  opMoments: UnplacedOperand,
  { tile, firstGroup, groups, known }: MeasuredChannels
): void => {
  const moments = offsetBy(opMoments, firstGroup * momentBytes, zeroStrides)
  if (known === undefined)
    builder.launch<'momentsForward'>({ kind: 'momentsForward', groups, perImage, ...tileFields(tile) }, { source: tile.address, moments })
  else
    builder.launch<'mergeMoments'>({ kind: 'mergeMoments', rows: groups, parts: 1 }, { source: arenaOperand(buffers.get(known)!), moments })
}

const addMoments = (
  scope: ModelScope,
  positions: readonly number[],
  source: TileTensor,
  region: Region,
  partsFor: (node: NormalisationNode) => readonly MeasuredChannels[] | undefined = () => undefined
): void => {
  for (const position of positions) {
    const read = scope.graph.nodes[position]!
    if (read.overlaps) {
      getNodeLowering(read).overlaps!.accumulate(scope, { node: read, position, source, region })
      continue
    }
    const node = read as NormalisationNode
    const { statistics } = node
    const moments = momentsAt(scope, node, position, region)
    const parts = partsFor(node) ?? [{ tile: source, firstGroup: 0, groups: statistics.groups }]
    parts.forEach((channels) => addChannels(scope, statistics, moments, channels))
  }
}

/** Adds what a tile owns of a tensor to the moments of all that normalise it. */
export const accumulateMoments = (tilePass: TilePass, tensor: number, tile: TileTensor): void => {
  const { scope, bound, body, pass } = tilePass
  const { builder, activationBytes } = scope
  const wanted = findMomentAccumulators(scope, bound.segment, pass, tensor)
  if (wanted.length === 0) return
  const [region, owned] = [body.held(tensor), body.owned(tensor)]
  let source = tile
  if (!isSameRegion(region, owned)) {
    const extents = regionExtents(owned, tile.extents[1])
    const buffer = builder.buffer({ kind: 'owned-part' }, tensorBytes(tile.layout, extents, activationBytes))
    source = { address: arenaOperand(buffer), extents, layout: tile.layout }
    copyPart(builder, { tensor: tile, region: within(region, owned) }, wholePart(source), 0, activationBytes)
  }
  addMoments(scope, wanted, source, owned, (node) => joinedChannels(tilePass, tensor, source, node))
}

/**
 * Adds a tensor to which all tiles of a pass have added to the moments of all that normalise it.
 */
export const accumulateMomentsOfSum = (
  scope: ModelScope,
  segment: Segment,
  pass: Pick<Pass, 'mode'>,
  tensor: number,
  sum: TileTensor
): void => addMoments(scope, findMomentAccumulators(scope, segment, pass, tensor), sum, wholePart(sum).region)

/**
 * The running statistics of some channels of the op at a position, which has them, take in moments.
 */
export const launchUpdateRunning = (
  { builder, graph, parameters, parameterBytes }: Pick<ModelScope, 'builder' | 'graph' | 'parameters' | 'parameterBytes'>,
  position: number,
  { first, count }: { readonly first: number; readonly count: number },
  moments: UnplacedOperand
): void => {
  const { mean, variance } = parameters[position]!
  const from = first * parameterBytes
  builder.launch<'updateRunning'>(
    { kind: 'updateRunning', channels: count, momentum: graph.nodes[position]!.statistics!.momentum! },
    { moments, mean: arenaOperand(mean!.buffer, from), variance: arenaOperand(variance!.buffer, from) }
  )
}

/**
 * After the tiles of a pass that accumulated moments: running statistics take them in, once a step;
 * where ranks share micro-batches, in the section `reduce` instead.
 */
export const updateRunning = (scope: ModelScope, segment: Segment): void => {
  if (sharesMicroBatches(scope.graph.objective)) return
  accumulatingFrom(scope, segment).forEach((position) => {
    const node = scope.graph.nodes[position]!
    if (updatesRunning(node))
      launchUpdateRunning(scope, position, { first: 0, count: node.input[1] }, arenaOperand(scope.moments.get(position)!))
  })
}

/**
 * After all tiles: the overlaps of a segment's loss, which are complete, become a part of it; of
 * ranks that share rows, of the first one's alone.
 */
export const finishOverlaps = (scope: ModelScope, segment: Segment): void => {
  const { from, to } = segment
  const isFirst = (findShard(scope.graph, segment)?.index ?? 0) === 0
  scope.graph.nodes.slice(from, to).forEach((node, index) => {
    if (node.overlaps && isFirst) getNodeLowering(node).overlaps!.finish(scope, node, from + index)
  })
}

/**
 * Before the tiles of a pass: moments of the running statistics of the frozen normalisations that
 * it runs, by position.
 */
export const frozenMoments = (
  { builder, graph, parameters }: ModelScope,
  { from, to }: Segment,
  runs: (position: number) => boolean
): ReadonlyMap<number, Buffer> =>
  new Map(
    graph.nodes.slice(from, to).flatMap((node, index) => {
      const position = from + index
      if (node.statistics === undefined || node.statistics.fromInput || !runs(position)) return []
      const moments = builder.buffer(tileIdentity('running-moments', node.name), node.input[1] * momentBytes)
      const { mean, variance } = parameters[position]!
      builder.launch<'momentsOfRunning'>(
        { kind: 'momentsOfRunning', channels: node.input[1] },
        { mean: arenaOperand(mean!.buffer), variance: arenaOperand(variance!.buffer), moments: arenaOperand(moments) }
      )
      return [[position, moments] as const]
    })
  )

/**
 * Tells whether the gradient of a normalisation's input waits until that of its output is complete:
 * its moments go beyond a tile, or beyond this rank's rows.
 */
export const isPending = (graph: Graph, segment: Segment, { statistics }: NormalisationNode): boolean =>
  statistics.fromInput && (!isWithinTile(statistics, segment.grid) || findShard(graph, segment) !== undefined)
