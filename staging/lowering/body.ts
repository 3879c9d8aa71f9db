import type { BoundSegment, ForwardMode, Pass, Stream } from './bound-segment'
import { windowOf } from '../../dsl'
import { extentsOfTensor, isLoss, type Node } from '../graph'
import type { Kernel } from '../kernels'
import { layoutCode } from '../layout'
import { gathersMoments, isNormalisation } from '../normalisation'
import { tileCount, type Segment } from '../plan'
import { rounds, windowFields, type Context, type Step } from './context'
import { at, none, type UnplacedOperand } from './emitter'
import { handsOutLoss } from './exchange'
import { openImageTile } from './image-tile'
import { gatherMoments } from './moments'
import { loweringOf } from './ops'
import { passOf } from './pass'
import { copyRowsToDevice, copyRowsToHost } from './streams'
import {
  allOf,
  copyPart,
  freshTile,
  inExchange,
  isSameRegion,
  ownedRegionOf,
  readRegionOf,
  regionExtents,
  regionOf,
  roundTile,
  tensorBytes,
  sliceOf,
  viewOf,
  wholeRows,
  within,
  zeroTile
} from './tensors'
import type { Body, Region, TileTensor } from './tile-tensor'

const winnersOf = (context: Context, node: Node, step: Omit<Step, 'winners' | 'slope' | 'fusedIntoPrevious'>): UnplacedOperand => {
  if (node.op !== 'maxPool2d') return none
  const kernel: Kernel = { kind: 'maxPoolForward', layout: layoutCode(step.source.layout), ...windowFields(windowOf(node.args), step) }
  return at(context.emit.buffer(`winners of ${node.name}`, context.device.winnersBytes(kernel)))
}

/** The op that overwrites a tile of a tensor: one that reads just what is held of it. */
const inPlaceConsumerIn = ({ segment }: BoundSegment, body: Body, pass: Pass, tensor: number): number | undefined => {
  const consumer = pass.inPlaceConsumerOf(tensor)
  return consumer !== undefined && isSameRegion(regionOf(body, tensor), readRegionOf(body, consumer - segment.from, tensor))
    ? consumer
    : undefined
}

/** Whether the tiles of an image make an op's output together. */
const reducesPixels = ({ access }: Node): boolean => access.H.kind === 'reduce'

/** How an output of a tile, and its gradient, is seen in place: all tiles of an image add to a sum and read its gradient there. */
export const viewOfOutput = (context: Context, node: Node, whole: TileTensor, region: Region): TileTensor | undefined =>
  reducesPixels(node) ? sliceOf(whole, region, context.activationBytes) : viewOf(context, whole, region)

/** Where the output of each op of a tile goes: a whole tensor itself where that can be, else a buffer, shared by ops that work in place. */
const outputBuffersOf = (context: Context, bound: BoundSegment, body: Body, pass: Pass): ReadonlyMap<number, UnplacedOperand> => {
  const { graph, layouts } = context
  const { segment, boundaries } = bound
  const outputBuffers = new Map<number, UnplacedOperand>()
  for (let position = segment.to - 1; position >= segment.from; position--) {
    const [node, tensor] = [graph.nodes[position]!, position + 1]
    const whole = pass.writes(tensor) ? boundaries.get(tensor)?.tensor : undefined
    const region = regionOf(body, tensor)
    const direct =
      whole !== undefined && isSameRegion(region, ownedRegionOf(body, tensor)) ? viewOfOutput(context, node, whole, region) : undefined
    const consumer = inPlaceConsumerIn(bound, body, pass, tensor)
    if (direct !== undefined) outputBuffers.set(tensor, direct.address)
    else if (isLoss(node.op)) outputBuffers.set(tensor, none)
    else if (consumer !== undefined) outputBuffers.set(tensor, outputBuffers.get(consumer + 1)!)
    else
      outputBuffers.set(
        tensor,
        freshTile(context, `output of ${node.name}`, regionExtents(region, node.output[1]), layouts[tensor]!).address
      )
  }
  return outputBuffers
}

/** What a tile holds of a tensor on the host, which passes in whole rows; `home` is where it goes when it is brought for this tile alone. */
const bringTile = (context: Context, { tensor }: Stream, region: Region, home: () => TileTensor): TileTensor => {
  const rows = wholeRows(tensor, region)
  if (isSameRegion(rows, region)) return copyRowsToDevice(context, tensor, region, home)
  const band = copyRowsToDevice(context, tensor, rows, (extents) => freshTile(context, 'band of whole rows', extents, tensor.layout))
  const tile = home()
  copyPart(context.emit, { tensor: band, region: within(rows, region) }, allOf(tile), 0, context.activationBytes)
  return tile
}

/**
 * Runs one tile forward. Returns each op's step, for backward. An op works in place where nothing that backward reads, and nothing outside
 * the tile, would be overwritten.
 */
export const forwardBody = (context: Context, bound: BoundSegment, body: Body, mode: ForwardMode): readonly Step[] => {
  const { emit, activationBytes, parameterBytes, layouts, exchange, graph } = context
  const { segment, boundaries, streams } = bound
  const pass = passOf(context, bound, mode)
  const outputBuffers = outputBuffersOf(context, bound, body, pass)
  const tiles = new Map<number, TileTensor>()

  /** The tile of a tensor that comes from outside: seen in place, copied, or loaded; left empty where nothing reads it. */
  const open = (tensor: number): TileTensor => {
    const region = regionOf(body, tensor)
    const stream = streams.get(tensor)
    const whole = stream === undefined ? boundaries.get(tensor)?.tensor : undefined
    const view = whole && viewOf(context, whole, region)
    if (view !== undefined) return view
    const extents = regionExtents(region, extentsOfTensor(graph, tensor)[1])
    const consumer = inPlaceConsumerIn(bound, body, pass, tensor)
    const reader = graph.nodes[graph.readers[tensor]!.find((position) => position >= segment.from)!]!
    const home = (): TileTensor =>
      consumer === undefined
        ? freshTile(context, `input of ${reader.name}`, extents, layouts[tensor]!)
        : { address: outputBuffers.get(consumer + 1)!, extents, layout: layouts[tensor]! }
    if (tensor === 0) return openImageTile(context, region, extents, home, pass.isRead(0))
    if (pass.isRead(tensor) && stream !== undefined) return bringTile(context, stream, region, home)
    const tile = home()
    if (pass.isRead(tensor)) copyPart(emit, { tensor: whole!, region }, allOf(tile), 0, activationBytes)
    return tile
  }
  const held = (tensor: number): TileTensor => {
    const known = tiles.get(tensor)
    if (known !== undefined) return known
    const opened = open(tensor)
    tiles.set(tensor, opened)
    if (tensor === 0) gatherMoments(context, bound, body, pass, tensor, opened)
    return opened
  }
  /** A part of a tile by itself, for a kernel that wants it densely packed. */
  const part = (tile: TileTensor, region: Region, name: string, wanted: boolean): TileTensor => {
    const view = viewOf(context, tile, region)
    if (view !== undefined) return view
    const copy = freshTile(context, name, regionExtents(region, tile.extents[1]), tile.layout)
    if (wanted) copyPart(emit, { tensor: tile, region }, allOf(copy), 0, activationBytes)
    return copy
  }
  const operandsOf = (node: Node, position: number): readonly TileTensor[] =>
    node.inputs.map((tensor) => {
      const [whole, region] = [regionOf(body, tensor), readRegionOf(body, position - segment.from, tensor)]
      const tile = held(tensor)
      return isSameRegion(whole, region)
        ? tile
        : part(tile, within(whole, region), `what ${node.name} reads`, pass.runs(position) || pass.readsInput(position))
    })
  /** Writes the owned part of an output where it belongs. */
  const handOut = (tensor: number, tile: TileTensor): void => {
    const [region, owned] = [regionOf(body, tensor), ownedRegionOf(body, tensor)]
    const stream = streams.get(tensor)
    if (stream !== undefined) return copyRowsToHost(context, { tensor: tile, region: within(region, owned) }, stream.tensor, owned)
    const whole = boundaries.get(tensor)!.tensor
    if (tile.address.space === 'arena' && tile.address.buffer === whole.buffer) return
    copyPart(emit, { tensor: tile, region: within(region, owned) }, { tensor: whole, region: owned }, 0, activationBytes)
  }

  const steps: Step[] = []
  for (let position = segment.from; position < segment.to; position++) {
    const [node, tensor] = [graph.nodes[position]!, position + 1]
    if (tileCount(segment.grid) === 1) emit.moment(position)
    const lowering = loweringOf(node)
    const destinationRegion = regionOf(body, tensor)
    const sources = operandsOf(node, position)
    const partial = {
      node,
      position,
      sources,
      source: sources[0]!,
      destination: pass.fuses(position)
        ? sources[0]!
        : { address: outputBuffers.get(tensor)!, extents: regionExtents(destinationRegion, node.output[1]), layout: layouts[tensor]! },
      rows: body.runs[1].readings[position - segment.from]!,
      columns: body.runs[2].readings[position - segment.from]!,
      sourceRegion: readRegionOf(body, position - segment.from, node.inputs[0]!),
      destinationRegion,
      parameters: context.parameters[position]
    }
    const fused = pass.fuses(position)
    const step: Step = {
      ...partial,
      winners: winnersOf(context, node, partial),
      slope: pass.negativeSlopeOf(position),
      fusedIntoPrevious: fused && isNormalisation(graph.nodes[node.inputs[0]! - 1]!)
    }
    steps.push(step)
    tiles.set(tensor, step.destination)
    if (!pass.runs(position)) continue
    if (mode === 'evaluate' && isLoss(node.op)) {
      if (node.op === 'pixelCrossEntropy') {
        const { fields, address } = inExchange(
          step.source,
          [node.input[0], 1, node.input[2], node.input[3]],
          step.sourceRegion,
          exchange.classes,
          1
        )
        const { batch, height, width, layout } = fields
        const kernel = { kind: 'classesOfPixels', batch, channels: node.input[1], height, width, layout } as const
        emit.launch<'classesOfPixels'>(
          { ...kernel, fullHeight: node.input[2], fullWidth: node.input[3] },
          { source: step.source.address, classes: address }
        )
        if (handsOutLoss(context)) lowering.forward(context, step as never)
      } else {
        const { fields, address } = inExchange(step.source, node.input, step.sourceRegion, exchange.scores, parameterBytes)
        emit.launch<'scatterAdd'>({ kind: 'scatterAdd', ...fields }, { source: step.source.address, destination: address })
      }
      continue
    }
    if (!fused) {
      if (lowering.accumulates?.(node.args as never) === true) accumulate(context, step, pass)
      else lowering.forward(context, step as never)
    }
    if (!isSummedByTiles(node, segment)) gatherMoments(context, bound, body, pass, tensor, step.destination)
    if (pass.writes(tensor)) handOut(tensor, step.destination)
  }
  return steps
}

/** Whether an op's output is complete only when all tiles of a segment have added to it. */
export const isSummedByTiles = (node: Node, { grid }: Segment): boolean => (grid.H > 1 || grid.W > 1) && reducesPixels(node)

/** An op that adds to its output: what tiles add to together was zeroed before them, and is rounded after them. */
const accumulate = (context: Context, step: Step, pass: Pass): void => {
  const { emit, activationBytes, parameterBytes } = context
  const { node, destination, destinationRegion, position } = step
  const lowering = loweringOf(node)
  const together = context.sums?.get(position + 1)
  if (together !== undefined)
    return lowering.forward(context, { ...step, destination: sliceOf(together, destinationRegion, parameterBytes)! } as never)
  if (!rounds(context)) {
    if (!pass.writes(position + 1)) zeroTile(emit, destination, activationBytes)
    return lowering.forward(context, step as never)
  }
  const sum = sumTensor(context, node.name, destination.extents)
  zeroTile(emit, sum, parameterBytes)
  lowering.forward(context, { ...step, destination: sum } as never)
  roundTile(emit, sum, destination)
}

/** Where an op adds to its output in the parameters' type. */
export const sumTensor = ({ emit, parameterBytes }: Context, name: string, extents: TileTensor['extents']): TileTensor => ({
  address: at(emit.buffer(`sums of ${name}`, tensorBytes('plain', extents, parameterBytes))),
  extents,
  layout: 'plain'
})

/** Whether a tensor's moments are wanted by something that reads it. */
export const isNormalised = ({ graph }: Context, tensor: number): boolean =>
  graph.readers[tensor]!.some((position) => gathersMoments(graph.nodes[position]!))
