import { maxLive } from '../placement/first-fit'
import { lifetimesOf } from '../placement/lifetimes'
import type { Segment } from '../plan'
import { segmentMultiplyAdds, segmentTiling, type SegmentTiling, type TileRun } from '../tiling'
import { bindSegment, boundaryAt } from './bind'
import type { Context } from './context'
import { emitter, openPool, type Pool, type VirtualInstruction } from './emitter'
import { openContext, type Lowering } from './lower'
import { emitBackward, emitForward } from './segment'

/** What one segment takes beside residents and the tensors at its ends; bytes and milliseconds. */
export interface SegmentEstimate {
  readonly forwardBytes: number
  readonly backwardBytes: number
  /** What stays from forward until backward. */
  readonly keptBytes: number
  readonly milliseconds: number
}

const size = (run: TileRun): number => run.readings.reduce((sum, { interval }) => sum + interval.to - interval.from, 0)

/** The largest tile, twice where there are several: its loop tells what each tile costs from what is done once. */
const largest = (runs: readonly TileRun[]): TileRun => ({
  ...runs.reduce((most, run) => (size(run) > size(most) ? run : most)),
  count: runs.length > 1 || runs[0]!.count > 1 ? 2 : 1
})

const largestTile = ({ B, H, W }: SegmentTiling): SegmentTiling => ({ B: [largest(B)], H: [largest(H)], W: [largest(W)] })

const pixels = ({ B, H, W }: SegmentTiling): number =>
  [B, H, W].reduce((product, runs) => product * runs.reduce((sum, run) => sum + run.count * size(run), 0), 1)

/**
 * Estimates segments by lowering their largest tile alone; the time of its loops is scaled to the multiply-adds of all tiles. Returns
 * undefined for a grid with tiles that see only padding. Estimates are remembered by segment.
 */
export const segmentEstimator = (lowering: Lowering): ((segment: Segment) => SegmentEstimate | undefined) => {
  const pool = openPool()
  const context = openContext(lowering, pool)
  const known = new Map<string, SegmentEstimate | undefined>()
  return (segment) => {
    const { from, to, grid, recompute, reorder, convolutions } = segment
    const key = [from, to, grid.B, grid.H, grid.W, recompute, reorder, convolutions].join()
    if (!known.has(key)) known.set(key, estimate(context, pool, segment))
    return known.get(key)
  }
}

const estimate = (context: Context, pool: Pool, segment: Segment): SegmentEstimate | undefined => {
  const { graph, device } = context
  const tiling = segmentTiling(graph, segment, segment.grid)
  if (tiling === undefined) return undefined
  const tile = largestTile(tiling)
  const own: Context = { ...context, emit: emitter(pool) }
  const code = bindSegment(own, segment, tile, boundaryAt(own, segment.from), boundaryAt(own, segment.to))
  const isLast = segment.to === graph.nodes.length
  const kept = isLast ? undefined : emitForward(own, code)
  const forwardEnd = launches(own.emit.code())
  emitBackward(own, code, kept, () => undefined)

  const instructions = own.emit.code()
  const local = lifetimesOf(instructions, []).filter(({ buffer }) => buffer.scope === 'local')
  const [forward, backward] = [local.filter(({ from }) => from < forwardEnd), local.filter(({ to }) => to > forwardEnd)]
  const across = local.filter(({ from, to }) => from < forwardEnd && to > forwardEnd)
  const work = (of: SegmentTiling): number => segmentMultiplyAdds(graph, segment, of) || pixels(of)
  const scale = work(tiling) / work(tile)
  const time = (kernel: number): number => device.milliseconds(pool.kernels[kernel]!)
  return {
    forwardBytes: maxLive(forward).bytes,
    backwardBytes: maxLive(backward).bytes,
    keptBytes: across.reduce((sum, { bytes }) => sum + bytes, 0),
    milliseconds: instructions.reduce((sum, one) => sum + (one.kind === 'loop' ? scale : 1) * milliseconds([one], time), 0)
  }
}

const launches = (code: readonly VirtualInstruction[]): number =>
  code.reduce((sum, one) => sum + (one.kind === 'launch' ? 1 : launches(one.body)), 0)

const milliseconds = (code: readonly VirtualInstruction[], time: (kernel: number) => number): number =>
  code.reduce((sum, one) => sum + (one.kind === 'launch' ? time(one.kernel) : one.count * milliseconds(one.body, time)), 0)
