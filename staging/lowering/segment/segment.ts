import { gathersMoments, isNormalisation, type Normalisation } from '../../graph/normalisation'
import { tileCount, type Segment } from '../../plans/plan'
import type { SegmentTiling, TileRun } from '../../graph/tiling'
import { backwardBody, emitPending, normalisationParameters, writesDirectly } from '../tile/backward'
import { forwardBody, isSummedByTiles, sumTensor } from '../tile/forward'
import type { BoundSegment, ForwardMode } from '../tile/bound-segment'
import { rounds, type Context, type ParameterTensor, type Step } from '../scope/scope'
import { at, none, type Buffer, type UnplacedOperand } from '../ir/builder'
import { completeRows, seedsOf, type Outgoing } from '../tile/host-gradients'
import { broughtBand, emitTiles } from './double-buffering'
import type { Body, Region, TileTensor, BufferSlot, WholeTensor } from '../ir/tile-tensor'
import { gatherMomentsOfSum, isPending, updateRunning, withFrozenMoments, zeroMoments } from '../tile/moments'
import { rowsOfTile, sumBytes } from '../ops/moment-addresses'
import { loweringOf } from '../ops'
import { learningTensors, weightsIn, withRoundedWeights } from '../scope/parameters'
import { passOf } from '../tile/pass'
import { bandsOf, gradientOf, readingOf } from '../tile/host-rows'
import { ownedRegionOf, readRegionOf, regionOf, tensorBytes } from '../scope/regions'
import { roundTile, zeroTile } from '../scope/copies'
import { winogradWeights, withWinograd } from './winograd'

/** A segment ready to be emitted, forward and backward. */
export interface SegmentCode extends BoundSegment {
  readonly bodies: readonly Body[]
}

/** Every combination of runs along batch, height and width: the bodies of a segment's loops, in tile order. */
export const bodiesOf = ({ B, H, W }: SegmentTiling): readonly Body[] =>
  B.flatMap((batch) => H.flatMap((rows) => W.map((columns): Body => ({ runs: [batch, rows, columns] }))))

const zero = ({ emit }: Context, buffer: Buffer): void =>
  emit.launch<'zero'>({ kind: 'zero', bytes: buffer.bytes }, { destination: at(buffer) })

/** The context of a segment's forward or backward, where its ops find how they are computed. */
const inSegment = (
  context: Context,
  segment: Segment,
  shared: Parameters<typeof withWinograd>[2],
  runs: (position: number) => boolean = () => true
): Context =>
  withFrozenMoments(
    withWinograd(segment.workspace === undefined ? context : { ...context, workspace: segment.workspace }, segment, shared),
    segment,
    runs
  )

/** Forward of a segment: every tile writes its owned part of the outputs. Returns what was kept. The last one's belongs to its backward. */
export const emitForward = (
  context: Context,
  code: SegmentCode,
  mode: ForwardMode = code.segment.recompute ? 'discard' : 'keep'
): readonly Step[] | undefined => {
  const { segment, boundaries } = code
  context.emit.moment(segment.from)
  const sums = sumsOf(context, code)
  if (mode !== 'repeat') zeroMoments(context, segment)
  const shared = context.parameters.slice(segment.from, segment.to)
  const rounded = withRoundedWeights({ ...context, sums }, segment, shared)
  const inside = inSegment(rounded, segment, { winogradForward: shared, winogradBackward: [] }, passOf(context, code, mode).runs)
  let kept: readonly Step[] | undefined
  emitTiles(context, code, mode, (body, turn) => {
    kept = forwardBody({ ...inside, turn }, code, body, mode)
  })
  sums.forEach((sum, tensor) => roundTile(context.emit, sum, boundaries.get(tensor)!.tensor))
  for (const tensor of code.ends.outputs)
    if (isSummedByTiles(context.graph.nodes[tensor - 1]!, segment))
      gatherMomentsOfSum(context, code, { mode }, tensor, boundaries.get(tensor)!.tensor)
  if (mode !== 'evaluate' && mode !== 'repeat') updateRunning(context, segment)
  return mode === 'keep' ? kept : undefined
}

/** Zeroes the outputs to which tiles add; where those are rounded, what the tiles of one image add to instead. */
const sumsOf = (context: Context, { segment: { grid }, ends, boundaries }: SegmentCode): ReadonlyMap<number, TileTensor> => {
  const added = ends.outputs.filter((tensor) => {
    const node = context.graph.nodes[tensor - 1]!
    return loweringOf(node).accumulates?.(node.args as never) === true
  })
  if (!rounds(context)) {
    added.forEach((tensor) => zero(context, boundaries.get(tensor)!.tensor.buffer))
    return new Map()
  }
  if (grid.H === 1 && grid.W === 1) return new Map()
  return new Map(
    added.map((tensor) => {
      const { name, output } = context.graph.nodes[tensor - 1]!
      const sum = sumTensor(context, name, output)
      zeroTile(context.emit, sum, context.parameterBytes)
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
  context: Context,
  code: SegmentCode,
  kept: readonly Step[] | undefined,
  finish: (parameter: ParameterTensor, gradient: Buffer) => void
): void => {
  const { parameterBytes, emit, gradients, graph } = context
  const { segment, bodies, ends, boundaries, streams } = code
  const isLast = segment.to === graph.nodes.length
  const positions = Array.from({ length: segment.to - segment.from }, (_, index) => segment.from + index)
  if (!isLast && !positions.some((position) => gradients[position + 1])) return
  const partial = isTiled(segment)
  // A last segment without tiles runs forward first.
  if (partial || !isLast) emit.moment(2 * graph.nodes.length - segment.to)
  if (isLast) zeroMoments(context, segment)
  const mode = isLast ? 'keep' : 'recompute'
  const pass = passOf(context, code, mode)
  const parametersOf = (wanted: (position: number) => boolean) => positions.map((at) => (wanted(at) ? context.parameters[at] : undefined))
  const normalising = positions.filter((position) => isNormalisation(graph.nodes[position]!) && gradients[position + 1]!)
  const others = parametersOf((position) => !isNormalisation(graph.nodes[position]!))

  const gradientSums = new Map(
    positions
      .flatMap((position) => learningTensors(context.parameters[position]))
      .map((tensor) => [tensor, tensor.gradient ?? emit.buffer(`the gradient of ${tensor.name}`, tensor.elements * parameterBytes)])
  )
  const sumOf = (tensor: ParameterTensor): Buffer => gradientSums.get(tensor)!
  // The gradient of a transposed convolution's input is a convolution, with the weights as they are stored.
  const withSourceGradient = parametersOf(
    (position) => gradients[graph.nodes[position]!.inputs[0]!]! && graph.nodes[position]!.op !== 'convTranspose2d'
  )
  if (partial)
    others
      .flatMap(learningTensors)
      .filter(({ gradient }) => gradient === undefined)
      .forEach((tensor) => zero(context, sumOf(tensor)))
  const transformed = winogradWeights(context, segment)
  // What backward does not read is not run forward again.
  const again = kept === undefined ? parametersOf(pass.runs) : []
  const rounded = withRoundedWeights(context, segment, [...again, ...withSourceGradient])
  const forBackward = (weight: ParameterTensor): UnplacedOperand => weightsIn(rounded, weight, weight.backwardLayout)
  const shared = new Map(
    partial && segment.reorder === 'once'
      ? withSourceGradient.flatMap((both) =>
          both?.weight === undefined || transformed.has(both.weight) ? [] : [[both.weight, forBackward(both.weight)] as const]
        )
      : []
  )
  const inside = inSegment(rounded, segment, { winogradForward: again, winogradBackward: withSourceGradient })

  /** Sums of a normalisation, where its parameters or its input's gradient want them. */
  const sums = new Map(
    normalising.flatMap((position) => {
      const node = graph.nodes[position] as Normalisation
      const wanted = learningTensors(context.parameters[position]).length > 0 || (gathersMoments(node) && gradients[node.inputs[0]!]!)
      return wanted ? [[position, emit.buffer(`sums of ${node.name}`, imagesOf(node) * node.input[1] * sumBytes)] as const] : []
    })
  )
  sums.forEach((buffer) => zero(context, buffer))

  const isFirst = (tensor: number): boolean => graph.readers[tensor]!.every((reader) => reader < segment.to)
  const inputOf = (tensor: number) =>
    !gradients[tensor]! ? undefined : tensor === 0 ? ('exchange' as const) : boundaries.get(tensor)?.gradient
  const pending = normalising.flatMap((position): readonly Pending[] => {
    const node = graph.nodes[position] as Normalisation
    const [tensor] = node.inputs
    if (!isPending(code, node)) return []
    const whole = inputOf(tensor!)
    if (whole === undefined || whole === 'exchange') return []
    if (graph.readers[tensor!]!.length === 1) return [{ position, tensor: tensor!, dy: whole }]
    const buffer = emit.buffer(`the gradient of the output of ${node.name}`, whole.buffer.bytes)
    return [{ position, tensor: tensor!, dy: { ...whole, buffer, address: at(buffer) } }]
  })
  pending.forEach(({ dy }) => zero(context, dy.buffer))
  for (const tensor of ends.inputs) {
    const whole = inputOf(tensor)
    const waits = pending.filter((one) => one.tensor === tensor)
    if (whole === undefined || whole === 'exchange' || !isFirst(tensor) || waits.some(({ dy }) => dy === whole)) continue
    const region = (body: Body) => readRegionOf(body, lastReader(tensor) - segment.from, tensor)
    if (waits.length > 0 || bodies.some((body) => !writesDirectly(context, whole, region(body), segment))) zero(context, whole.buffer)
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
  const outgoing = outgoingOf(context, code, waiting)
  const mustAdd = new Set(pending.map(({ tensor }) => tensor))

  const finishAll = (tensors: readonly ParameterTensor[]): void => tensors.forEach((tensor) => finish(tensor, sumOf(tensor)))
  const runTile = (body: Body, turn?: BufferSlot): void => {
    const inTurn: Context = { ...inside, turn }
    const steps = kept ?? forwardBody(inTurn, code, body, mode)
    if (isLast && !partial) updateRunning(context, segment)
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
    return stream === undefined ? [] : seedsOf(stream).map((whole) => broughtBand(context, whole, (body) => ownedRegionOf(body, tensor)))
  })
  const added = outgoing.flatMap((one) => (one.isFirst ? [] : [broughtBand(context, one.whole, (body) => completeRows(one, body))]))
  emitTiles(context, code, mode, runTile, [...seeds, ...added])
  if (partial) finishAll(others.flatMap(learningTensors))
  const finishNormalisation = (position: number): void => {
    const node = graph.nodes[position] as Normalisation
    normalisationParameters(context, position, imagesOf(node), at(sums.get(position)!), { sumOf })
    finishAll(learningTensors(context.parameters[position]))
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
      context: inside,
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
const outgoingOf = (context: Context, { segment, bodies, ends, streams }: SegmentCode, waiting: readonly number[]): readonly Outgoing[] => {
  const { graph, gradients, emit, activationBytes } = context
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
        : emit.buffer(
            `strip of ${whole.buffer.name.replace(' on the host', '')}`,
            tensorBytes(whole.layout, [batch, channels, rows, columns.to - columns.from], activationBytes)
          )
    const regionOfTile = (body: Body): Region =>
      position === undefined ? regionOf(body, tensor) : readRegionOf(body, position - segment.from, tensor)
    return { tensor, position, whole, regionOf: regionOfTile, isFirst, strip, bandOf: (body) => bands[bodies.indexOf(body)]! }
  }
  const adds = (reader: number): boolean =>
    segment.from <= reader && reader < segment.to && gradients[reader + 1]! && !waiting.includes(reader)
  return [
    ...ends.inputs.flatMap((tensor) => {
      const { gradient, isWritten } = streams.get(tensor) ?? {}
      return gradient !== undefined && graph.readers[tensor]!.some(adds) ? [open(tensor, undefined, gradient, !isWritten)] : []
    }),
    ...waiting.map((position) => {
      const tensor = graph.nodes[position]!.inputs[0]!
      return open(tensor, position, gradientOf(context, streams.get(tensor)!, position), true)
    })
  ]
}

/** Images that have sums of their own. */
const imagesOf = (node: Normalisation): number => (node.op === 'batchNorm' ? 1 : node.input[0])
