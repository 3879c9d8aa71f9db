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

const largest = (runs: readonly TileRun[]): TileRun => ({
  ...runs.reduce((most, run) => (size(run) > size(most) ? run : most)),
  count: 1
})

const largestTile = ({ B, H, W }: SegmentTiling): SegmentTiling => ({ B: [largest(B)], H: [largest(H)], W: [largest(W)] })

const outputs = ({ B, H, W }: SegmentTiling): number =>
  [B, H, W].reduce((product, runs) => product * runs.reduce((sum, run) => sum + run.count * size(run), 0), 1)

/**
 * Estimates segments by lowering their largest tile alone; the time is scaled by the multiply-adds of all tiles. Returns
 * undefined for a grid with tiles that see only padding. Estimates are remembered by segment.
 */
export const segmentEstimator = (lowering: Lowering): ((segment: Segment) => SegmentEstimate | undefined) => {
  const pool = openPool()
  const context = openContext(lowering, pool)
  const known = new Map<string, SegmentEstimate | undefined>()
  return (segment) => {
    const { from, to, grid, recompute } = segment
    const key = [from, to, grid.B, grid.H, grid.W, recompute].join()
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
  const forwardEnd = own.emit.code().length
  emitBackward(own, code, kept, () => undefined)

  const instructions = own.emit.code()
  const local = lifetimesOf(instructions, []).filter(({ buffer }) => buffer.scope === 'local')
  const [forward, backward] = [local.filter(({ from }) => from < forwardEnd), local.filter(({ to }) => to > forwardEnd)]
  const across = local.filter(({ from, to }) => from < forwardEnd && to > forwardEnd)
  const ratio = segmentMultiplyAdds(graph, segment, tiling) / segmentMultiplyAdds(graph, segment, tile)
  const times = instructions.map((one) => milliseconds(one, pool, (kernel) => device.milliseconds(kernel)))
  const perTile = times.reduce((sum, time) => sum + time, 0)
  return {
    forwardBytes: maxLive(forward).bytes,
    backwardBytes: maxLive(backward).bytes,
    keptBytes: across.reduce((sum, { bytes }) => sum + bytes, 0),
    milliseconds: perTile * (Number.isFinite(ratio) ? ratio : outputs(tiling) / outputs(tile))
  }
}

const milliseconds = (one: VirtualInstruction, pool: Pool, time: (kernel: Pool['kernels'][number]) => number): number =>
  one.kind === 'launch' ? time(pool.kernels[one.kernel]!) : one.body.reduce((sum, inner) => sum + milliseconds(inner, pool, time), 0)
