import type { BoundSegment, ForwardMode, Pass, Stream } from './bound-segment'
import { windowOf } from '../../../dsl'
import { extentsOfTensor, isLoss, type Node } from '../../graph/graph'
import type { Kernel } from '../../kernels/kernels'
import { layoutCode } from '../../kernels/layout'
import { isNormalisation } from '../../graph/normalisation'
import { tileCount, type Segment } from '../../plans/plan'
import { isMixedPrecision, type TileScope } from '../scope/scope'
import { windowFields, type Step } from '../scope/op-step'
import { at, none, type UnplacedOperand } from '../ir/builder'
import { exportsLoss } from '../scope/step-io'
import { createImageTile } from './image-tile'
import { gatherMoments } from './moments'
import { loweringOf } from '../ops'
import { passOf } from './pass'
import { copyRowsToDevice, copyRowsToHost } from './host-rows'
import {
  allOf,
  inExchange,
  isSameRegion,
  ownedRegionOf,
  readRegionOf,
  regionExtents,
  regionOf,
  tensorBytes,
  sliceOf,
  viewOf,
  wholeRows,
  within
} from '../scope/regions'
import { castTile, freshTile, zeroTile, copyPart } from '../scope/copies'
import type { Body, Region, TileTensor } from '../ir/tile-tensor'

const indicesOf = (scope: TileScope, node: Node, step: Omit<Step, 'indices' | 'slope' | 'fusedIntoPrevious'>): UnplacedOperand => {
  if (node.op !== 'maxPool2d') return none
  const kernel: Kernel = { kind: 'maxPoolForward', layout: layoutCode(step.source.layout), ...windowFields(windowOf(node.args), step) }
  return at(scope.builder.buffer(`winners of ${node.name}`, scope.device.winnersBytes(kernel)))
}

/** The op that overwrites a tile of a tensor: one that reads just what is held of it. */
const inPlaceConsumerIn = ({ segment }: BoundSegment, body: Body, pass: Pass, tensor: number): number | undefined => {
  const consumer = pass.inPlaceConsumerOf(tensor)
  return consumer !== undefined && isSameRegion(regionOf(body, tensor), readRegionOf(body, consumer - segment.from, tensor))
    ? consumer
    : undefined
}

/** How an output of a tile, and its gradient, is seen in place: all tiles of a sum add to it and read its gradient there. */
export const viewOfOutput = (scope: TileScope, node: Node, whole: TileTensor, region: Region): TileTensor | undefined =>
  loweringOf(node).accumulates?.(node.args as never) === true ? sliceOf(whole, region, scope.activationBytes) : viewOf(scope, whole, region)

/** Where the output of each op of a tile goes: a whole tensor itself where that can be, else a buffer, shared by ops that work in place. */
const outputBuffersOf = (scope: TileScope, bound: BoundSegment, body: Body, pass: Pass): ReadonlyMap<number, UnplacedOperand> => {
  const { graph, layouts } = scope
  const { segment, boundaries } = bound
  const outputBuffers = new Map<number, UnplacedOperand>()
  for (let position = segment.to - 1; position >= segment.from; position--) {
    const [node, tensor] = [graph.nodes[position]!, position + 1]
    const whole = pass.writes(tensor) ? boundaries.get(tensor)?.tensor : undefined
    const region = regionOf(body, tensor)
    const direct =
      whole !== undefined && isSameRegion(region, ownedRegionOf(body, tensor)) ? viewOfOutput(scope, node, whole, region) : undefined
    const consumer = inPlaceConsumerIn(bound, body, pass, tensor)
    if (direct !== undefined) outputBuffers.set(tensor, direct.address)
    else if (isLoss(node.op)) outputBuffers.set(tensor, none)
    else if (consumer !== undefined) outputBuffers.set(tensor, outputBuffers.get(consumer + 1)!)
    else
      outputBuffers.set(tensor, freshTile(scope, `output of ${node.name}`, regionExtents(region, node.output[1]), layouts[tensor]!).address)
  }
  return outputBuffers
}

/** What a tile holds of a tensor on the host, which passes in whole rows; `home` is where it goes when it is brought for this tile alone. */
const bringTile = (scope: TileScope, { tensor }: Stream, region: Region, home: () => TileTensor): TileTensor => {
  const rows = wholeRows(tensor, region)
  if (isSameRegion(rows, region)) return copyRowsToDevice(scope, tensor, region, home)
  const band = copyRowsToDevice(scope, tensor, rows, (extents) => freshTile(scope, 'band of whole rows', extents, tensor.layout))
  const tile = home()
  copyPart(scope.builder, { tensor: band, region: within(rows, region) }, allOf(tile), 0, scope.activationBytes)
  return tile
}

/**
 * Runs one tile forward. Returns each op's step, for backward. An op works in place where nothing that backward reads, and nothing outside
 * the tile, would be overwritten.
 */
export const forwardBody = (scope: TileScope, bound: BoundSegment, body: Body, mode: ForwardMode): readonly Step[] => {
  const { builder, activationBytes, parameterBytes, layouts, stepIo, graph } = scope
  const { segment, boundaries, streams } = bound
  const pass = passOf(scope, bound, mode)
  const outputBuffers = outputBuffersOf(scope, bound, body, pass)
  const tiles = new Map<number, TileTensor>()

  /** The tile of a tensor that comes from outside: seen in place, copied, or loaded; left empty where nothing reads it. */
  const open = (tensor: number): TileTensor => {
    const region = regionOf(body, tensor)
    const stream = streams.get(tensor)
    const whole = stream === undefined ? boundaries.get(tensor)?.tensor : undefined
    const view = whole && viewOf(scope, whole, region)
    if (view !== undefined) return view
    const extents = regionExtents(region, extentsOfTensor(graph, tensor)[1])
    const consumer = inPlaceConsumerIn(bound, body, pass, tensor)
    const reader = graph.nodes[graph.readers[tensor]!.find((position) => position >= segment.from)!]!
    const home = (): TileTensor =>
      consumer === undefined
        ? freshTile(scope, `input of ${reader.name}`, extents, layouts[tensor]!)
        : { address: outputBuffers.get(consumer + 1)!, extents, layout: layouts[tensor]! }
    if (tensor === 0) return createImageTile(scope, region, extents, home, pass.isRead(0))
    if (pass.isRead(tensor) && stream !== undefined) return bringTile(scope, stream, region, home)
    const tile = home()
    if (pass.isRead(tensor)) copyPart(builder, { tensor: whole!, region }, allOf(tile), 0, activationBytes)
    return tile
  }
  const held = (tensor: number): TileTensor => {
    const known = tiles.get(tensor)
    if (known !== undefined) return known
    const opened = open(tensor)
    tiles.set(tensor, opened)
    if (tensor === 0) gatherMoments(scope, bound, body, pass, tensor, opened)
    return opened
  }
  /** A part of a tile by itself, for a kernel that wants it densely packed. */
  const part = (tile: TileTensor, region: Region, name: string, wanted: boolean): TileTensor => {
    const view = viewOf(scope, tile, region)
    if (view !== undefined) return view
    const copy = freshTile(scope, name, regionExtents(region, tile.extents[1]), tile.layout)
    if (wanted) copyPart(builder, { tensor: tile, region }, allOf(copy), 0, activationBytes)
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
    if (stream !== undefined) return copyRowsToHost(scope, { tensor: tile, region: within(region, owned) }, stream.tensor, owned)
    const whole = boundaries.get(tensor)!.tensor
    if (tile.address.space === 'arena' && tile.address.buffer === whole.buffer) return
    copyPart(builder, { tensor: tile, region: within(region, owned) }, { tensor: whole, region: owned }, 0, activationBytes)
  }

  const steps: Step[] = []
  for (let position = segment.from; position < segment.to; position++) {
    const [node, tensor] = [graph.nodes[position]!, position + 1]
    if (tileCount(segment.grid) === 1) builder.timepoint(position)
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
      parameters: scope.parameters[position]
    }
    const fused = pass.fuses(position)
    const step: Step = {
      ...partial,
      indices: indicesOf(scope, node, partial),
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
          stepIo.classes,
          1
        )
        const { batch, height, width, layout } = fields
        const kernel = { kind: 'classesOfPixels', batch, channels: node.input[1], height, width, layout } as const
        builder.launch<'classesOfPixels'>(
          { ...kernel, fullHeight: node.input[2], fullWidth: node.input[3] },
          { source: step.source.address, classes: address }
        )
        if (exportsLoss(scope)) lowering.forward(scope, step as never)
      } else {
        const { fields, address } = inExchange(step.source, node.input, step.sourceRegion, stepIo.scores, parameterBytes)
        builder.launch<'scatterAdd'>({ kind: 'scatterAdd', ...fields }, { source: step.source.address, destination: address })
      }
      continue
    }
    if (!fused) {
      if (lowering.accumulates?.(node.args as never) === true) accumulate(scope, step, pass)
      else lowering.forward(scope, step as never)
    }
    if (!isSummedByTiles(node, segment)) gatherMoments(scope, bound, body, pass, tensor, step.destination)
    if (pass.writes(tensor)) handOut(tensor, step.destination)
  }
  return steps
}

/** Whether an op's output is complete only when all tiles of a segment have added to it. */
export const isSummedByTiles = (node: Node, { grid }: Segment): boolean =>
  (grid.H > 1 || grid.W > 1) && loweringOf(node).accumulates?.(node.args as never) === true

/** An op that adds to its output: what tiles add to together was zeroed before them, and is rounded after them. */
const accumulate = (scope: TileScope, step: Step, pass: Pass): void => {
  const { builder, activationBytes, parameterBytes } = scope
  const { node, destination, destinationRegion, position } = step
  const lowering = loweringOf(node)
  const together = scope.sums?.get(position + 1)
  if (together !== undefined)
    return lowering.forward(scope, { ...step, destination: sliceOf(together, destinationRegion, parameterBytes)! } as never)
  if (!isMixedPrecision(scope)) {
    if (!pass.writes(position + 1)) zeroTile(builder, destination, activationBytes)
    return lowering.forward(scope, step as never)
  }
  const sum = sumTensor(scope, node.name, destination.extents)
  zeroTile(builder, sum, parameterBytes)
  lowering.forward(scope, { ...step, destination: sum } as never)
  castTile(builder, sum, destination)
}

/** Where an op adds to its output in the parameters' type. */
export const sumTensor = (
  { builder, parameterBytes }: Pick<TileScope, 'builder' | 'parameterBytes'>,
  name: string,
  extents: TileTensor['extents']
): TileTensor => ({
  address: at(builder.buffer(`sums of ${name}`, tensorBytes('plain', extents, parameterBytes))),
  extents,
  layout: 'plain'
})
