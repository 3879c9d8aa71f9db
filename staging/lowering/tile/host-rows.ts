import { tileIdentity } from '../ir/buffer-identity'
import type { HostTensor } from './bound-segment'
import { extentsOfTensor, type Graph } from '../../graph/graph'
import type { Extents } from '../../graph/extents'
import { channelBlock } from '../../kernels/layout'
import { accumulatesMoments } from '../../graph/statistics'
import type { Copy } from '../../program/program'
import type { BufferRole } from '../../program/program-buffer'
import { readInterval } from '../../graph/axis-access'
import type { Interval } from '../../graph/interval'
import { partOfRun } from '../../graph/part-of-run'
import type { TileRun } from '../../graph/tile-runs'
import type { Span } from '../../graph/span'
import type { ModelScope, TileScope } from '../scope/scope'
import { arenaOperand, type InBuffer } from '../ir/builder'
import { waitForEngine } from '../ir/wait-for-engine'
import { sumBytes } from '../../ops/moment-addresses'
import { regionAddress, wholePart, boxStrides, regionExtents } from '../scope/regions'
import { wholeTensor } from '../scope/copies'
import type { Part, Region, TileTensor, WholeTensor } from '../ir/tile-tensor'

/** Makes buffers of the host pool for tensors that wait there, and for their gradients. */
export const createHostTensors = (scope: ModelScope, tensors: readonly number[]): ReadonlyMap<number, HostTensor> =>
  new Map(tensors.map((tensor) => [tensor, createHostTensor(scope, tensor)] as const))

const createHostTensor = (scope: ModelScope, tensor: number): HostTensor => {
  const onHost = (kind: 'output' | 'output-gradient', role: BufferRole) =>
    wholeTensor(scope, tensor, { kind, node: scope.graph.nodes[tensor - 1]!.name, form: 'on-host' }, role)
  const hostTensor: HostTensor = {
    tensor: onHost('output', 'boundary'),
    gradient: scope.requiresGrad[tensor]! ? onHost('output-gradient', 'output-gradient') : undefined,
    reopen: () => {
      hostTensor.tensor = onHost('output', 'boundary')
    },
    pending: [],
    isWritten: false
  }
  return hostTensor
}

/**
 * Notes, for a segment that is costed by itself, the work that normalisations that read its output
 * will have left to it.
 */
export const addPendingReductions = (scope: ModelScope, hostTensor: HostTensor | undefined, tensor: number): void => {
  const { graph, builder } = scope
  if (hostTensor?.gradient === undefined) return
  hostTensor.isWritten = true
  for (const position of graph.readers[tensor]!.filter((reader) => accumulatesMoments(graph.nodes[reader]!))) {
    const node = graph.nodes[position]!
    const sums = arenaOperand(builder.buffer(tileIdentity('sums', node.name), node.input[1] * sumBytes, 'statistics'))
    hostTensor.pending.push({ position, dy: getHostGradient(scope, hostTensor, position), sums, slope: 1, scope, finish: () => undefined })
  }
}

/**
 * Returns the host tensor in which the gradient of a normalisation's output waits: in the place of
 * its input's where nothing else reads that.
 */
export const getHostGradient = (scope: ModelScope, { gradient }: HostTensor, position: number): WholeTensor => {
  const { graph } = scope
  const [tensor] = graph.nodes[position]!.inputs
  return graph.readers[tensor!]!.length === 1
    ? gradient!
    : wholeTensor(scope, tensor!, { kind: 'output-gradient', node: graph.nodes[position]!.name, form: 'on-host' }, 'output-gradient')
}

const copyBand = (
  { builder, activationBytes }: ModelScope,
  engine: Copy['engine'],
  tile: Part,
  whole: WholeTensor,
  region: Region,
  seed?: true
): void => {
  const { layout, extents } = tile.tensor
  const [batch, rows, columns] = region.size
  const block = channelBlock(layout, extents[1])
  builder.copy({
    engine,
    rows: batch * Math.ceil(extents[1] / block),
    rowBytes: rows * columns * block * activationBytes,
    deviceRowStride: boxStrides(tile.tensor)[1] * activationBytes,
    hostRowStride: boxStrides(whole)[1] * activationBytes,
    device: regionAddress(tile.tensor, tile.region, activationBytes) as InBuffer,
    host: regionAddress(whole, region, activationBytes) as InBuffer,
    ...(seed && { seed })
  })
}

/**
 * Copies a region of a tensor on the host to a tile: to what `allocate` gives or, while the tile
 * before it is computed, to the place that its slot has for it. A `seed` begins the tile's
 * backward.
 */
export const copyRowsToDevice = (
  scope: TileScope,
  whole: WholeTensor,
  region: Region,
  allocate: (extents: Extents) => TileTensor,
  seed?: true
): TileTensor => {
  const { builder, slot } = scope
  const extents = regionExtents(region, whole.extents[1])
  const place = slot?.places.get(whole)
  const tile = place === undefined ? allocate(extents) : { address: arenaOperand(place), extents, layout: whole.layout }
  if (slot === undefined || place === undefined) waitForEngine(scope.builder, 'to-device', 'compute')
  else [slot.computed, slot.stored].forEach((event) => builder.wait('to-device', event))
  copyBand(scope, 'to-device', wholePart(tile), whole, region, seed)
  waitForEngine(scope.builder, 'compute', 'to-device')
  return tile
}

/**
 * Takes a part of a tile, which is not written to any more, to where it belongs in a tensor on the
 * host.
 */
export const copyRowsToHost = (scope: TileScope, tile: Part, whole: WholeTensor, region: Region): void => {
  waitForEngine(scope.builder, 'to-host', 'compute')
  copyBand(scope, 'to-host', tile, whole, region)
  if (scope.slot === undefined) waitForEngine(scope.builder, 'compute', 'to-host')
  else scope.slot.storing.push((tile.tensor.address as InBuffer).buffer)
}

/**
 * The rows of a tile's gradient that are complete, as each row of the host's is written once: all
 * before the next tile's first one, which still adds to what comes after.
 */
export interface RowBand {
  /** Rows before the tile's that no tile reads. */
  readonly lead: number
  /** First rows of the tile to which tiles before it have added: the strip that they left. */
  readonly before: number
  /** Number of rows from the tile's first one to that of the next tile. */
  readonly rows: number
  /** Rows that are left to the next tile. */
  readonly overlapRows: number
}

/** The rows of a tensor that a run's first tile has to do with. */
export type RunRows = (run: TileRun) => Interval

/**
 * Returns a function to the interval of rows that an op of a segment reads of one of its inputs.
 */
export const readIntervals =
  ({ from }: Span, position: number, tensor: number): RunRows =>
  (run) =>
    readInterval(run.readings[position - from]!, tensor)

/**
 * Returns the band of the tile at `index` of a run; all of the run's tiles have the same where the
 * run is regular.
 */
const bandAt = (runs: readonly TileRun[], run: number, index: number, extent: number, intervalOf: RunRows, tensor: number): RowBand => {
  const startOf = (at: number, tile: number): number => intervalOf(runs[at]!).from + tile * runs[at]!.advances.get(tensor)!
  const sizeOf = (at: number): number => intervalOf(runs[at]!).to - intervalOf(runs[at]!).from
  const [start, size] = [startOf(run, index), sizeOf(run)]
  const isFirst = run === 0 && index === 0
  const previous: readonly [number, number] = index > 0 ? [run, index - 1] : [run - 1, (runs[run - 1]?.count ?? 0) - 1]
  const next: readonly [number, number] = index + 1 < runs[run]!.count ? [run, index + 1] : [run + 1, 0]
  const end = next[0] === runs.length ? extent : startOf(...next)
  return {
    lead: isFirst ? start : 0,
    before: isFirst ? 0 : Math.max(0, startOf(...previous) + sizeOf(previous[0]) - start),
    rows: end - start,
    overlapRows: Math.max(0, start + size - end)
  }
}

/** Returns the band of each run's tiles, which all have the same. */
export const computeBands = (graph: Graph, runs: readonly TileRun[], tensor: number, intervalOf: RunRows): readonly RowBand[] =>
  runs.map((_, run) => bandAt(runs, run, 0, extentsOfTensor(graph, tensor)[2], intervalOf, tensor))

const isSameBand = (a: RowBand, b: RowBand): boolean =>
  a.lead === b.lead && a.before === b.before && a.rows === b.rows && a.overlapRows === b.overlapRows

/**
 * Runs of rows of which every tile has the same band of each of these: the first and the last of a
 * run may stand for themselves.
 */
export const regularRuns = (
  graph: Graph,
  { from }: Span,
  runs: readonly TileRun[],
  bands: readonly { readonly tensor: number; readonly intervalOf: RunRows }[]
): readonly TileRun[] =>
  runs.flatMap((run, at) => {
    const bandsAt = (index: number): readonly RowBand[] =>
      bands.map(({ tensor, intervalOf }) => bandAt(runs, at, index, extentsOfTensor(graph, tensor)[2], intervalOf, tensor))
    const differ = (a: number, b: number): boolean => bandsAt(a).some((band, index) => !isSameBand(band, bandsAt(b)[index]!))
    if (run.count === 1) return [run]
    const head = differ(0, 1) ? 1 : 0
    const tail = run.count - head > 1 && differ(run.count - 1, Math.max(head, run.count - 2)) ? 1 : 0
    const part = (first: number, count: number): readonly TileRun[] => (count === 0 ? [] : [partOfRun(graph, from, run, first, count)])
    return [...part(0, head), ...part(head, run.count - head - tail), ...part(run.count - tail, tail)]
  })
