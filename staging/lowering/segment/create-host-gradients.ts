import type { TileRun } from '../../graph/tile-runs'
import { arenaOperand } from '../ir/builder'
import type { Body, Region, WholeTensor } from '../ir/tile-tensor'
import { tensorBytes } from '../scope/regions'
import type { SegmentScope } from '../scope/scope'
import { completeRows, listSeeds, type HostGradient } from '../tile/host-gradients'
import { computeBands, getHostGradient, readIntervals } from '../tile/host-rows'
import { prefetchRows, type PrefetchedTensor } from './double-buffering'
import { finishReduction, type Reductions } from './reductions'
import type { SegmentBackward } from './segment-backward'

type Contribution = Pick<HostGradient, 'tensor' | 'position' | 'whole' | 'isFirst'>

/**
 * A gradient on the host with the rows of it that each tile completes, and a place for those that
 * tiles leave to the next one.
 */
const createHostGradient = ({ scope, code }: SegmentBackward, { tensor, position, whole, isFirst }: Contribution): HostGradient => {
  const { segment, bodies } = code
  const intervalOf = position === undefined ? (run: TileRun) => run.held.get(tensor)! : readIntervals(segment, position, tensor)
  const runs = bodies.map(({ runs: [, rows] }) => rows)
  const bands = computeBands(scope.graph, runs, tensor, intervalOf)
  const [batch, channels] = whole.extents
  const columns = intervalOf(bodies[0]!.runs[2])
  const rows = Math.max(...bands.map(({ overlapRows }) => overlapRows))
  const strip =
    rows === 0
      ? undefined
      : scope.builder.buffer(
          { ...whole.identity, form: 'strip' },
          tensorBytes(whole.layout, [batch, channels, rows, columns.to - columns.from], scope.activationBytes)
        )
  const regionOfTile = (body: Body): Region => (position === undefined ? body.held(tensor) : body.read(position - segment.from, tensor))
  return { tensor, position, whole, regionOf: regionOfTile, isFirst, strip, bandOf: (body) => bands[bodies.indexOf(body)]! }
}

/** What a segment's backward adds to gradients on the host. */
export const createHostGradients = (backward: SegmentBackward, { waiting }: Reductions): readonly HostGradient[] => {
  const { scope, code } = backward
  const { graph, requiresGrad } = scope
  const { from, to } = code.segment
  const adds = (reader: number): boolean => from <= reader && reader < to && requiresGrad[reader + 1]! && !waiting.includes(reader)
  const ofInputs = code.ends.inputs.flatMap((tensor) => {
    const { gradient, isWritten } = code.hostTensors.get(tensor) ?? {}
    if (gradient === undefined || !graph.readers[tensor]!.some(adds)) return []
    return [createHostGradient(backward, { tensor, position: undefined, whole: gradient, isFirst: !isWritten })]
  })
  const ofOutputs = waiting.map((position) => {
    const tensor = graph.nodes[position]!.inputs[0]!
    const whole: WholeTensor = getHostGradient(scope, code.hostTensors.get(tensor)!, position)
    return createHostGradient(backward, { tensor, position, whole, isFirst: true })
  })
  return [...ofInputs, ...ofOutputs]
}

/** What the tiles of a backward read of gradients on the host. */
export const prefetchGradients = (
  { scope, code }: SegmentBackward,
  hostGradients: readonly HostGradient[]
): readonly PrefetchedTensor[] => {
  const seeds = code.ends.outputs.flatMap((tensor) => {
    const hostTensor = code.hostTensors.get(tensor)
    return hostTensor === undefined ? [] : listSeeds(hostTensor).map((whole) => prefetchRows(scope, whole, (body) => body.owned(tensor)))
  })
  const added = hostGradients.flatMap((one) => (one.isFirst ? [] : [prefetchRows(scope, one.whole, (body) => completeRows(one, body))]))
  return [...seeds, ...added]
}

/**
 * After the tiles: what is on the host now, and what the segments before this one must do to it.
 */
export const storeGradientsToHost = (
  backward: SegmentBackward,
  hostGradients: readonly HostGradient[],
  reductions: Reductions,
  inside: SegmentScope
): void => {
  for (const { tensor, position, whole } of hostGradients) {
    const hostTensor = backward.code.hostTensors.get(tensor)!
    if (whole === hostTensor.gradient) hostTensor.isWritten = true
    if (position === undefined) continue
    hostTensor.pending.push({
      position,
      dy: whole,
      sums: arenaOperand(reductions.sums.get(position)!),
      slope: backward.pass.negativeSlopeOf(position),
      scope: inside,
      finish: () => finishReduction(backward, reductions, position)
    })
  }
}
