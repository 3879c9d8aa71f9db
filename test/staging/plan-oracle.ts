import type { DeviceModel, StageRequest } from '../../staging'
import { boundaryTensors, liveTensors } from '../../staging/graph/boundary-tensors'
import { fusibleTileAxes, ownedExtent } from '../../staging/graph/grid'
import { hoistPoolAboveRelu, inOrder, sourceOrder } from '../../staging/graph/order'
import { untiled, type Grid } from '../../staging/graph/span'
import type { StepGraph } from '../../staging/graph/step-graph'
import { lower } from '../../staging/lowering'
import { segmentEstimator } from '../../staging/lowering/cost/estimate'
import { createPool } from '../../staging/lowering/ir/builder'
import { createModelScope } from '../../staging/lowering/segment/create-scope'
import { transformablePositions } from '../../staging/lowering/segment/winograd'
import { createStepGraph } from '../../staging/ops/build-graph'
import { alignUp } from '../../staging/placement/placement'
import type { Segment } from '../../staging/plans/plan'
import { buildRequestGraph } from '../../staging/request'
import { outputBytes } from '../../staging/strategies/find-segments'
import { must } from '../must'

/** One way to run a segment: nanoseconds, bytes it needs and bytes that stay until its backward. */
interface Way {
  readonly segment: Segment
  readonly time: number
  readonly needed: number
  readonly kept: number
}

/** The first segments of a plan. */
interface Beginning {
  readonly kept: number
  readonly time: number
  readonly last?: { readonly way: Way; readonly before: Beginning }
}

const subsets = (of: readonly number[]): readonly (readonly number[])[] =>
  of.reduce<readonly (readonly number[])[]>((all, one) => [...all, ...all.map((set) => [...set, one])], [[]])

/** Those than which none is faster and also needs less and keeps less. */
const undominated = (ways: readonly Way[]): readonly Way[] => {
  const front: Way[] = []
  for (const way of [...ways].sort((a, b) => a.time - b.time))
    if (!front.some(({ needed, kept }) => needed <= way.needed && kept <= way.kept)) front.push(way)
  return front
}

const segmentsOf = ({ last }: Beginning): readonly Segment[] => (last === undefined ? [] : [...segmentsOf(last.before), last.way.segment])

/** What a sum over segments may say of the exact peak: a placement has gaps, a sum no lifetimes. */
const estimates = [0.75, 0.8, 0.85, 0.9, 0.93, 0.96, 0.98, 1, 1.01, 1.02, 1.04, 1.06, 1.09, 1.12, 1.16]

/** Of so many of the fastest for a sum of bytes the exact peak is computed. */
const lowered = 40

/** Milliseconds of the fastest step within so many bytes; undefined where nothing fits. */
type Fastest = (budget: number) => number | undefined

/** The fastest of plans in one order of ops: see planOracle. */
const fastestIn = (
  written: StepGraph,
  order: readonly number[],
  device: DeviceModel,
  counts: readonly number[],
  residentBytes: number
): Fastest => {
  const graph = inOrder(written, order)
  const scope = createModelScope(graph, device, createPool())
  const estimate = segmentEstimator(graph, device)
  const sizes = outputBytes(scope)
  const end = graph.nodes.length
  const bytesOf = (tensors: Iterable<number>) => [...tensors].reduce((sum, tensor) => sum + alignUp(sizes[tensor - 1] ?? 0), 0)
  const liveAt = (position: number) => (position === end ? [] : liveTensors(graph, position))
  const winograd = transformablePositions(scope)
  const waysOf = (from: number, to: number): readonly Way[] => {
    const span = { from, to }
    const outputs = bytesOf(boundaryTensors(graph, span).outputs)
    const passing = bytesOf(liveAt(from).filter((tensor) => liveAt(to).includes(tensor) && scope.requiresGrad[tensor]))
    const axes = fusibleTileAxes(graph, span)
    const extent = (axis: 'B' | 'H' | 'W') => (axes.includes(axis) ? ownedExtent(graph.nodes[to - 1]!, axis) : 1)
    const grids = counts.flatMap((H) => counts.map((W): Grid => ({ B: extent('B'), H, W })))
    const tiled = grids
      .filter(({ H, W }) => H * W > 1 && H <= extent('H') && W <= extent('W'))
      .flatMap((grid): readonly Segment[] =>
        (['once', 'each-tile'] as const).flatMap((reorder): readonly Segment[] => {
          const segment = { ...span, grid, recompute: true, reorder }
          return from === 0 ? [segment, { ...segment, prefetch: true }] : [segment]
        })
      )
    const kept: Segment = { ...span, grid: untiled, recompute: false, reorder: 'once' }
    const segments = [kept, ...(to === end ? [] : [{ ...kept, recompute: true }]), ...tiled]
    const positions = winograd.filter((position) => from <= position && position < to)
    const ways = subsets(positions).flatMap((set) =>
      segments.flatMap((plainSegment): readonly Way[] => {
        const segment = set.length === 0 ? plainSegment : { ...plainSegment, winograd: set }
        const found = estimate(segment)
        const bytes = found?.bytes()
        if (found === undefined || bytes === undefined || bytes.refusedKernel !== undefined) return []
        const backward = (segment.recompute ? 0 : outputs) + passing + bytes.bytesWithGradients
        const needed = Math.max(outputs + bytes.forwardBytes, backward)
        return [{ segment, time: found.nanoseconds(), needed, kept: outputs + bytes.keptBytes }]
      })
    )
    return undominated(ways)
  }
  const ways = Array.from({ length: end }, (_, from) => Array.from({ length: end + 1 }, (_, to) => (to > from ? waysOf(from, to) : [])))

  const fastestFirst = (bytes: number): readonly Beginning[] => {
    const at: Beginning[][] = Array.from({ length: end + 1 }, () => [])
    at[0]!.push({ kept: 0, time: 0 })
    at.forEach((beginnings, position) => {
      beginnings.sort((a, b) => a.time - b.time)
      if (position === end) return
      let least = Infinity
      for (const before of beginnings) {
        if (before.kept >= least) continue
        least = before.kept
        for (let to = position + 1; to <= end; to++)
          for (const way of ways[position]![to]!)
            if (residentBytes + before.kept + way.needed <= bytes)
              at[to]!.push({ kept: before.kept + way.kept, time: before.time + way.time, last: { way, before } })
      }
    })
    return at[end]!.slice(0, lowered)
  }

  return (budget) => {
    const times = estimates.flatMap((factor) => {
      for (const beginning of fastestFirst(budget * factor)) {
        const exact = lower(written, { order, segments: segmentsOf(beginning) }, device)
        if (exact.peakBytes() <= budget) return [exact.milliseconds()]
      }
      return []
    })
    return times.length === 0 ? undefined : Math.min(...times)
  }
}

/**
 * The fastest step of a small network in a budget, over every cut into segments and every way to
 * run each: kept or computed again, whole or in each grid of `counts`, tiles in both orders, images
 * prefetched or not, and each set of convolutions by Winograd; with max pools where they are
 * written and above ReLUs. Time and bytes are summed over segments; then the fastest are lowered,
 * and must fit exactly.
 */
export const planOracle = (
  request: StageRequest,
  counts: readonly number[]
): { readonly plainPeakBytes: number; readonly fastest: Fastest } => {
  const { device, objective, source } = request
  const written = createStepGraph(must(buildRequestGraph(request)), objective, source)
  const orders = [sourceOrder(written), hoistPoolAboveRelu(written)]
  const whole: Segment = { from: 0, to: written.nodes.length, grid: untiled, recompute: false, reorder: 'once' }
  const plain = lower(written, { order: orders[0]!, segments: [whole] }, device)
  const searches = orders
    .filter((order, index) => index === 0 || order.join() !== orders[0]!.join())
    .map((order) => fastestIn(written, order, device, counts, plain.residentBytes))
  return {
    plainPeakBytes: plain.peakBytes(),
    fastest: (budget) => {
      const times = searches.flatMap((fastest) => fastest(budget) ?? [])
      return times.length === 0 ? undefined : Math.min(...times)
    }
  }
}
