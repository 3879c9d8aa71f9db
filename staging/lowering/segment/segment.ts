import { gathersMoments, isNormalisation, type Normalisation } from '../../graph/normalisation'
import { tileCount, type Segment } from '../../plans/plan'
import type { SegmentTiling, TileRun } from '../../graph/tiling'
import { backwardBody, emitPending, normalisationParameters, writesDirectly } from '../tile/backward'
import { forwardBody, isSummedByTiles, sumTensor } from '../tile/forward'
import type { BoundSegment, ForwardMode } from '../tile/bound-segment'
import { isMixedPrecision, type ModelScope, type TileScope } from '../scope/scope'
import type { ParameterTensor } from '../scope/parameter-tensor'
import type { Step } from '../scope/op-step'
import { at, none, type Buffer, type UnplacedOperand } from '../ir/builder'
import { completeRows, seedsOf, type Outgoing } from '../tile/host-gradients'
import { broughtBand, emitTiles } from './double-buffering'
import type { Body, Region, TileTensor, BufferSlot, WholeTensor } from '../ir/tile-tensor'
import { gatherMomentsOfSum, isPending, updateRunning, zeroMoments } from '../tile/moments'
import { rowsOfTile, sumBytes } from '../ops/moment-addresses'
import { loweringOf } from '../ops'
import { castSharedWeights, learningTensors, weightsIn } from '../scope/parameters'
import { passOf } from '../tile/pass'
import { bandsOf, gradientOf, readingOf } from '../tile/host-rows'
import { ownedRegionOf, readRegionOf, regionOf, tensorBytes } from '../scope/regions'
import { castTile, zeroTile } from '../scope/copies'
import { createSegmentScope } from './segment-scope'
import { winogradWeights } from './winograd'

/** A segment ready to be emitted, forward and backward. */
export interface SegmentCode extends BoundSegment {
  readonly bodies: readonly Body[]
}

/** Every combination of runs along batch, height and width: the bodies of a segment's loops, in tile order. */
export const bodiesOf = ({ B, H, W }: SegmentTiling): readonly Body[] =>
  B.flatMap((batch) => H.flatMap((rows) => W.map((columns): Body => ({ runs: [batch, rows, columns] }))))

const zero = ({ builder }: ModelScope, buffer: Buffer): void =>
  builder.launch<'zero'>({ kind: 'zero', bytes: buffer.bytes }, { destination: at(buffer) })

/** Forward of a segment: every tile writes its owned part of the outputs. Returns what was kept. The last one's belongs to its backward. */
export const emitForward = (
  scope: ModelScope,
  code: SegmentCode,
  mode: ForwardMode = code.segment.recompute ? 'discard' : 'keep'
): readonly Step[] | undefined => {
  const { segment, boundaries } = code
  scope.builder.timepoint(segment.from)
  const sums = sumsOf(scope, code)
  if (mode !== 'repeat') zeroMoments(scope, segment)
  const shared = scope.parameters.slice(segment.from, segment.to)
  const inside = createSegmentScope(scope, segment, {
    sums,
    castWeights: castSharedWeights(scope, segment, shared),
    transforms: { winogradForward: shared, winogradBackward: [] },
    runs: passOf(scope, code, mode).runs
  })
  let kept: readonly Step[] | undefined
  emitTiles(scope, code, mode, (body, slot) => {
    kept = forwardBody({ ...inside, slot }, code, body, mode)
  })
  sums.forEach((sum, tensor) => castTile(scope.builder, sum, boundaries.get(tensor)!.tensor))
  for (const tensor of code.ends.outputs)
    if (isSummedByTiles(scope.graph.nodes[tensor - 1]!, segment))
      gatherMomentsOfSum(scope, code, { mode }, tensor, boundaries.get(tensor)!.tensor)
  if (mode !== 'evaluate' && mode !== 'repeat') updateRunning(scope, segment)
  return mode === 'keep' ? kept : undefined
}

/** Zeroes the outputs to which tiles add; where those are rounded, what the tiles of one image add to instead. */
const sumsOf = (scope: ModelScope, { segment: { grid }, ends, boundaries }: SegmentCode): ReadonlyMap<number, TileTensor> => {
  const added = ends.outputs.filter((tensor) => {
    const node = scope.graph.nodes[tensor - 1]!
    return loweringOf(node).accumulates?.(node.args as never) === true
  })
  if (!isMixedPrecision(scope)) {
    added.forEach((tensor) => zero(scope, boundaries.get(tensor)!.tensor.buffer))
    return new Map()
  }
  if (grid.H === 1 && grid.W === 1) return new Map()
  return new Map(
    added.map((tensor) => {
      const { name, output } = scope.graph.nodes[tensor - 1]!
      const sum = sumTensor(scope, name, output)
      zeroTile(scope.builder, sum, scope.parameterBytes)
      return [tensor, sum]
    })
  )
}

const isTiled = ({ grid }: Segment): boolean => tileCount(grid) > 1

/** The gradient of an output that is not complete before all tiles are done, and where it goes then. */
interface Pending {
  readonly position: number
  readonly tensor: number
  readonly dy: WholeTensor
}

/**
 * Backward of a segment. `kept` are the steps of a forward that was kept; otherwise each tile runs forward again first
 * (for the last segment, whose forward pass this is, for the first time). Then its parameters are updated or handed out, or their
 * gradients left in the arena for the section `update`, which also zeroes them. Nothing runs where nothing is to be learnt.
 */
export const emitBackward = (
  scope: ModelScope,
  code: SegmentCode,
  kept: readonly Step[] | undefined,
  finish: (parameter: ParameterTensor, gradient: Buffer) => void
): void => {
  const { parameterBytes, builder, requiresGrad, graph } = scope
  const { segment, bodies, ends, boundaries, streams } = code
  const isLast = segment.to === graph.nodes.length
  const positions = Array.from({ length: segment.to - segment.from }, (_, index) => segment.from + index)
  if (!isLast && !positions.some((position) => requiresGrad[position + 1])) return
  const partial = isTiled(segment)
  // A last segment without tiles runs forward first.
  if (partial || !isLast) builder.timepoint(2 * graph.nodes.length - segment.to)
  if (isLast) zeroMoments(scope, segment)
  const mode = isLast ? 'keep' : 'recompute'
  const pass = passOf(scope, code, mode)
  const parametersOf = (wanted: (position: number) => boolean) => positions.map((at) => (wanted(at) ? scope.parameters[at] : undefined))
  const normalising = positions.filter((position) => isNormalisation(graph.nodes[position]!) && requiresGrad[position + 1]!)
  const others = parametersOf((position) => !isNormalisation(graph.nodes[position]!))

  const gradientSums = new Map(
    positions
      .flatMap((position) => learningTensors(scope.parameters[position]))
      .map((tensor) => [tensor, tensor.gradient ?? builder.buffer(`the gradient of ${tensor.name}`, tensor.elements * parameterBytes)])
  )
  const sumOf = (tensor: ParameterTensor): Buffer => gradientSums.get(tensor)!
  // The gradient of a transposed convolution's input is a convolution, with the weights as they are stored.
  const withSourceGradient = parametersOf(
    (position) => requiresGrad[graph.nodes[position]!.inputs[0]!]! && graph.nodes[position]!.op !== 'convTranspose2d'
  )
  if (partial)
    others
      .flatMap(learningTensors)
      .filter(({ gradient }) => gradient === undefined)
      .forEach((tensor) => zero(scope, sumOf(tensor)))
  const transformed = winogradWeights(scope, segment)
  // What backward does not read is not run forward again.
  const again = kept === undefined ? parametersOf(pass.runs) : []
  const castWeights = castSharedWeights(scope, segment, [...again, ...withSourceGradient])
  const forBackward = (weight: ParameterTensor): UnplacedOperand => weightsIn({ ...scope, castWeights }, weight, weight.backwardLayout)
  const shared = new Map(
    partial && segment.reorder === 'once'
      ? withSourceGradient.flatMap((both) =>
          both?.weight === undefined || transformed.has(both.weight) ? [] : [[both.weight, forBackward(both.weight)] as const]
        )
      : []
  )
  const inside = createSegmentScope(scope, segment, {
    sums: new Map(),
    castWeights,
    transforms: { winogradForward: again, winogradBackward: withSourceGradient },
    runs: () => true
  })

  /** Sums of a normalisation, where its parameters or its input's gradient want them. */
  const sums = new Map(
    normalising.flatMap((position) => {
      const node = graph.nodes[position] as Normalisation
      const wanted = learningTensors(scope.parameters[position]).length > 0 || (gathersMoments(node) && requiresGrad[node.inputs[0]!]!)
      return wanted ? [[position, builder.buffer(`sums of ${node.name}`, imagesOf(node) * node.input[1] * sumBytes)] as const] : []
    })
  )
  sums.forEach((buffer) => zero(scope, buffer))

  const isFirst = (tensor: number): boolean => graph.readers[tensor]!.every((reader) => reader < segment.to)
  const inputOf = (tensor: number) =>
    !requiresGrad[tensor]! ? undefined : tensor === 0 ? ('exchange' as const) : boundaries.get(tensor)?.gradient
  const pending = normalising.flatMap((position): readonly Pending[] => {
    const node = graph.nodes[position] as Normalisation
    const [tensor] = node.inputs
    if (!isPending(code, node)) return []
    const whole = inputOf(tensor!)
    if (whole === undefined || whole === 'exchange') return []
    if (graph.readers[tensor!]!.length === 1) return [{ position, tensor: tensor!, dy: whole }]
    const buffer = builder.buffer(`the gradient of the output of ${node.name}`, whole.buffer.bytes)
    return [{ position, tensor: tensor!, dy: { ...whole, buffer, address: at(buffer) } }]
  })
  pending.forEach(({ dy }) => zero(scope, dy.buffer))
  for (const tensor of ends.inputs) {
    const whole = inputOf(tensor)
    const waits = pending.filter((one) => one.tensor === tensor)
    if (whole === undefined || whole === 'exchange' || !isFirst(tensor) || waits.some(({ dy }) => dy === whole)) continue
    const region = (body: Body) => readRegionOf(body, lastReader(tensor) - segment.from, tensor)
    if (waits.length > 0 || bodies.some((body) => !writesDirectly(scope, whole, region(body), segment))) zero(scope, whole.buffer)
  }
  /** The one whose backward comes first. */
  function lastReader(tensor: number): number {
    return graph.readers[tensor]!.filter((reader) => reader < segment.to).at(-1)!
  }
  /** Normalisations of what is on the host, which wait there. */
  const waiting = normalising.filter((position) => {
    const node = graph.nodes[position] as Normalisation
    return isPending(code, node) && streams.get(node.inputs[0]!)?.gradient !== undefined
  })
  const outgoing = outgoingOf(scope, code, waiting)
  const mustAdd = new Set(pending.map(({ tensor }) => tensor))

  const finishAll = (tensors: readonly ParameterTensor[]): void => tensors.forEach((tensor) => finish(tensor, sumOf(tensor)))
  const runTile = (body: Body, slot: BufferSlot | undefined): void => {
    const inTurn: TileScope = { ...inside, slot }
    const steps = kept ?? forwardBody(inTurn, code, body, mode)
    if (isLast && !partial) updateRunning(scope, segment)
    backwardBody(inTurn, code, body, steps, {
      inputOf,
      isFirst: (tensor) => isFirst(tensor) && !mustAdd.has(tensor),
      pendingOf: (position) => (waiting.includes(position) ? 'host' : pending.find((one) => one.position === position)?.dy),
      outgoing,
      sumsAt: (position, region) => {
        const buffer = sums.get(position)
        const node = graph.nodes[position] as Normalisation
        return buffer === undefined ? none : rowsOfTile(at(buffer), node, region, node.input[1] * sumBytes)
      },
      sumOf,
      partial,
      backwardWeights: (weight) => shared.get(weight) ?? forBackward(weight),
      done: (both) => (partial ? undefined : finishAll(learningTensors(both)))
    })
  }
  const seeds = ends.outputs.flatMap((tensor) => {
    const stream = streams.get(tensor)
    return stream === undefined ? [] : seedsOf(stream).map((whole) => broughtBand(scope, whole, (body) => ownedRegionOf(body, tensor)))
  })
  const added = outgoing.flatMap((one) => (one.isFirst ? [] : [broughtBand(scope, one.whole, (body) => completeRows(one, body))]))
  emitTiles(scope, code, mode, runTile, [...seeds, ...added])
  if (partial) finishAll(others.flatMap(learningTensors))
  const finishNormalisation = (position: number): void => {
    const node = graph.nodes[position] as Normalisation
    normalisationParameters(scope, position, imagesOf(node), at(sums.get(position)!), { sumOf })
    finishAll(learningTensors(scope.parameters[position]))
  }
  for (const { tensor, position, whole } of outgoing) {
    const stream = streams.get(tensor)!
    if (whole === stream.gradient) stream.isWritten = true
    if (position === undefined) continue
    const finish = (): void => finishNormalisation(position)
    stream.pending.push({
      position,
      dy: whole,
      sums: at(sums.get(position)!),
      slope: pass.negativeSlopeOf(position),
      scope: inside,
      finish
    })
  }
  for (const tensor of ends.outputs) streams.get(tensor)?.pending.forEach((one) => one.finish())
  for (const position of normalising) {
    const buffer = sums.get(position)
    if (buffer === undefined || waiting.includes(position)) continue
    const wait = pending.find((one) => one.position === position)
    if (wait !== undefined) {
      const { tensor, gradient } = boundaries.get(wait.tensor)!
      emitPending(inside, position, { source: tensor, dy: wait.dy, gradient: gradient!, sums: at(buffer) }, pass.negativeSlopeOf(position))
    }
    finishNormalisation(position)
  }
}

/** What a segment's backward adds to gradients on the host. */
const outgoingOf = (
  scope: ModelScope,
  { segment, bodies, ends, streams }: SegmentCode,
  waiting: readonly number[]
): readonly Outgoing[] => {
  const { graph, requiresGrad, builder, activationBytes } = scope
  const runs = bodies.map(({ runs: [, rows] }) => rows)
  const open = (tensor: number, position: number | undefined, whole: WholeTensor, isFirst: boolean): Outgoing => {
    const intervalOf = position === undefined ? (run: TileRun) => run.held.get(tensor)! : readingOf(segment, position)
    const bands = bandsOf(graph, runs, tensor, intervalOf)
    const [batch, channels] = whole.extents
    const columns = intervalOf(bodies[0]!.runs[2])
    const rows = Math.max(...bands.map(({ strip }) => strip))
    const strip =
      rows === 0
        ? undefined
        : builder.buffer(
            `strip of ${whole.buffer.name.replace(' on the host', '')}`,
            tensorBytes(whole.layout, [batch, channels, rows, columns.to - columns.from], activationBytes)
          )
    const regionOfTile = (body: Body): Region =>
      position === undefined ? regionOf(body, tensor) : readRegionOf(body, position - segment.from, tensor)
    return { tensor, position, whole, regionOf: regionOfTile, isFirst, strip, bandOf: (body) => bands[bodies.indexOf(body)]! }
  }
  const adds = (reader: number): boolean =>
    segment.from <= reader && reader < segment.to && requiresGrad[reader + 1]! && !waiting.includes(reader)
  return [
    ...ends.inputs.flatMap((tensor) => {
      const { gradient, isWritten } = streams.get(tensor) ?? {}
      return gradient !== undefined && graph.readers[tensor]!.some(adds) ? [open(tensor, undefined, gradient, !isWritten)] : []
    }),
    ...waiting.map((position) => {
      const tensor = graph.nodes[position]!.inputs[0]!
      return open(tensor, position, gradientOf(scope, streams.get(tensor)!, position), true)
    })
  ]
}

/** Images that have sums of their own. */
const imagesOf = (node: Normalisation): number => (node.op === 'batchNorm' ? 1 : node.input[0])
