import { isLoss, type Node } from '../graph'
import type { Kernel } from '../kernels'
import type { Segment } from '../plan'
import { windowFields, type Context, type NodeParameters, type Step } from './context'
import { at, none, type Virtual } from './emitter'
import type { InputTile } from './load-ahead'
import { loweringOf } from './ops'
import {
  copyTile,
  inExchange,
  originOf,
  regionExtents,
  regionOf,
  tensorBytes,
  tileFields,
  viewOf,
  type Body,
  type TileTensor,
  type WholeTensor
} from './tensors'
import { windowOf } from '../../dsl'
import { tileCount } from '../tiling'
import { layoutCode } from '../layout'

/** A segment with the whole tensors at its ends; the network's input and a loss have none. */
export interface BoundSegment {
  readonly segment: Segment
  readonly input: WholeTensor | undefined
  readonly output: WholeTensor | undefined
}

/**
 * `discard` computes the segment's output and keeps nothing; `keep` keeps what backward reads; `recompute` keeps it and writes no
 * output; `evaluate` keeps nothing and hands out the loss's input in place of the loss.
 */
export type ForwardMode = 'discard' | 'keep' | 'recompute' | 'evaluate'

const nodesOf = ({ graph }: Context, { segment: { from, to } }: BoundSegment): readonly Node[] => graph.nodes.slice(from, to)

const freshTile = (context: Context, name: string, extents: TileTensor['extents'], layout: TileTensor['layout']): TileTensor => ({
  address: at(context.emit.buffer(name, tensorBytes(layout, extents, context.elementBytes))),
  extents,
  layout
})

/**
 * The tile of the segment's input: seen in place, copied out of the whole tensor to `home`, or loaded there or, while the tile before it
 * is computed, to `ahead`; left empty unless `wanted`.
 */
const openInput = (
  context: Context,
  { segment, input }: BoundSegment,
  body: Body,
  home: () => Virtual,
  wanted: boolean,
  ahead: InputTile | undefined
): TileTensor => {
  const region = regionOf(body, 0)
  const { emit, source, exchange, elementBytes, graph } = context
  if (input !== undefined) {
    const view = viewOf(input, region, elementBytes)
    if (view !== undefined) return view
    const tile = { address: home(), extents: regionExtents(region, input.extents[1]), layout: input.layout }
    if (wanted) copyTile(emit, input, region, tile, 'read', elementBytes)
    return tile
  }
  const address = ahead === undefined ? home() : at(ahead.buffer)
  const tile = { address, extents: regionExtents(region, graph.input[1]), layout: context.layouts[segment.from]! }
  if (!wanted) return tile
  if (source.kind === 'float') {
    const { fields, address } = inExchange(tile, graph.input, region, exchange.input, elementBytes)
    emit.launch<'gather'>({ kind: 'gather', ...fields }, { source: address, destination: tile.address })
    return tile
  }
  const constants = (values: readonly number[], fallback: number) => [0, 1, 2, 3].map((channel) => values[channel] ?? fallback)
  const [mean0, mean1, mean2, mean3] = constants(source.mean, 0) as [number, number, number, number]
  const [deviation0, deviation1, deviation2, deviation3] = constants(source.deviation, 1) as [number, number, number, number]
  const full = { fullHeight: graph.input[2], fullWidth: graph.input[3] }
  const kernel = {
    ...({ kind: 'loadImage', mean0, mean1, mean2, mean3, deviation0, deviation1, deviation2, deviation3 } as const),
    ...full,
    ...tileFields(tile)
  }
  const operands = { destination: address, ...originOf(region) }
  if (ahead === undefined) emit.launch<'loadImage'>(kernel, operands)
  else {
    emit.wait('to-device', ahead.free, ahead.buffer)
    emit.load(kernel, operands)
    emit.record('to-device', ahead.loaded)
    emit.wait('compute', ahead.loaded)
  }
  return tile
}

const winnersOf = (context: Context, node: Node, step: Omit<Step, 'winners' | 'slope'>): Virtual => {
  if (node.op !== 'maxPool2d') return none
  const kernel: Kernel = { kind: 'maxPoolForward', layout: layoutCode(step.source.layout), ...windowFields(windowOf(node.args), step) }
  return at(context.emit.buffer(`winners of ${node.name}`, context.device.winnersBytes(kernel)))
}

/** Whether an op's backward reads its input: a loss's always, others' for the gradient of a weight that learns. */
const readsInput = ({ parameters }: Context, node: Node, position: number): boolean =>
  loweringOf(node).keeps.input === true &&
  (isLoss(node.op) || parameters[position]?.weight.learning !== undefined || learnsBias(parameters[position]))

const learnsBias = (both: NodeParameters | undefined): boolean => both?.bias?.learning !== undefined

/** The last op that a recomputation must run, for what backward reads of it or of its output; -1 for none. */
const lastRecomputed = (context: Context, nodes: readonly Node[], from: number): number =>
  nodes.findLastIndex((node, position) => {
    const { output, winners } = loweringOf(node).keeps
    const next = nodes[position + 1]
    const own = from + position >= context.firstLearning && (output === true || winners === true)
    return isLoss(node.op) || own || (next !== undefined && readsInput(context, next, from + position + 1))
  })

/** Whether a pass reads a segment's input. */
export const needsInput = (context: Context, bound: BoundSegment, mode: ForwardMode): boolean => {
  const nodes = nodesOf(context, bound)
  const { from } = bound.segment
  return lastRunOf(context, nodes, from, mode) >= 0 || readsInput(context, nodes[0]!, from)
}

const lastRunOf = (context: Context, nodes: readonly Node[], from: number, mode: ForwardMode): number =>
  mode === 'recompute' ? lastRecomputed(context, nodes, from) : nodes.length - 1

/**
 * Runs one tile forward, its input loaded `ahead` where that is given. Returns each op's step, for backward. An op works in place where
 * nothing that backward reads, and nothing outside the tile, would be overwritten.
 */
export const forwardBody = (context: Context, bound: BoundSegment, body: Body, mode: ForwardMode, ahead?: InputTile): readonly Step[] => {
  const { emit, elementBytes, layouts, exchange, firstLearning } = context
  const { segment, output } = bound
  const nodes = nodesOf(context, bound)
  const last = nodes.length - 1
  const lastRun = lastRunOf(context, nodes, segment.from, mode)
  const outputRegion = regionOf(body, nodes.length)
  const direct = output === undefined || mode === 'recompute' ? undefined : viewOf(output, outputRegion, elementBytes)

  /** Whether backward of the op before reads its output, which is the input of the op at `position`. */
  const isKept = (position: number): boolean =>
    (mode === 'keep' || mode === 'recompute') &&
    position > 0 &&
    segment.from + position > firstLearning &&
    loweringOf(nodes[position - 1]!).keeps.output === true
  const overwritesInput = (position: number): boolean => loweringOf(nodes[position]!).inPlace && !isKept(position)
  const outputExtents = (position: number): TileTensor['extents'] => regionExtents(regionOf(body, position + 1), nodes[position]!.output[1])

  /** Where the output of each op goes: the segment's output itself when it can, else a buffer, shared by ops that work in place. */
  const homes: Virtual[] = []
  for (let position = last; position >= 0; position--) {
    const node = nodes[position]!
    const layout = layouts[segment.from + position + 1]!
    if (position === last && direct !== undefined) homes[position] = direct.address
    else if (isLoss(node.op)) homes[position] = none
    else if (position < last && overwritesInput(position + 1)) homes[position] = homes[position + 1]!
    else homes[position] = freshTile(context, `output of ${node.name}`, outputExtents(position), layout).address
  }
  /** Asked for only where the input is a copy or loaded: what is seen in place is not overwritten. */
  const inputHome = (): Virtual =>
    overwritesInput(0)
      ? homes[0]!
      : freshTile(context, `input of ${nodes[0]!.name}`, regionExtents(regionOf(body, 0), nodes[0]!.input[1]), layouts[segment.from]!)
          .address

  /** The slope of the rectifier that the convolution before it applies, in its place: they write to one home. */
  const fusedSlope = (position: number): number | undefined => {
    const before = nodes[position - 1]
    return before?.op === 'conv2d' && position <= lastRun ? loweringOf(nodes[position]!).slope?.(nodes[position]!.args as never) : undefined
  }

  const steps: Step[] = []
  let source = openInput(context, bound, body, inputHome, needsInput(context, bound, mode), ahead)
  nodes.forEach((node, position) => {
    if (tileCount(segment.grid) === 1) emit.moment(segment.from + position)
    const lowering = loweringOf(node)
    const destination: TileTensor = {
      address: homes[position]!,
      extents: outputExtents(position),
      layout: layouts[segment.from + position + 1]!
    }
    const partial = {
      node,
      position,
      source,
      destination,
      rows: body.runs[1].readings[position]!,
      columns: body.runs[2].readings[position]!,
      sourceRegion: regionOf(body, position),
      parameters: context.parameters[segment.from + position]
    }
    const step: Step = { winners: winnersOf(context, node, partial), slope: fusedSlope(position + 1) ?? 1, ...partial }
    steps.push(step)
    source = destination
    if (position > lastRun || fusedSlope(position) !== undefined) return
    if (mode === 'evaluate' && isLoss(node.op)) {
      const { fields, address } = inExchange(step.source, node.input, regionOf(body, position), exchange.scores, elementBytes)
      return emit.launch<'scatterAdd'>({ kind: 'scatterAdd', ...fields }, { source: step.source.address, destination: address })
    }
    // What tiles add to together was zeroed before them.
    if (lowering.accumulates && !(position === last && direct !== undefined))
      emit.launch<'zero'>(
        { kind: 'zero', bytes: tensorBytes(destination.layout, destination.extents, elementBytes) },
        { destination: destination.address }
      )
    lowering.forward(context, step as never)
  })
  if (output !== undefined && mode !== 'recompute' && direct === undefined)
    copyTile(emit, output, outputRegion, source, 'write', elementBytes)
  return steps
}
