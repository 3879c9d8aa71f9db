import { findShard } from '../../graph/shard'
import { arenaOperand, type Buffer } from '../ir/builder'
import type { TileTensor, WholeTensor } from '../ir/tile-tensor'
import { type ElementsOf, addParts, copyElements, wholeTensor, zeroBuffer } from '../scope/copies'
import type { ModelScope } from '../scope/scope'
import { gatherParts } from './gather-parts'
import { mergeMaxima } from './merge-statistics'
import type { SegmentCode } from './segment-code'
import { receiveRows, sendRows } from './send-rows'

/** What each rank has of a sum is gathered, and added in the order of ranks. */
const addSums = ({ builder, graph, ...scope }: ModelScope, { address }: TileTensor, elements: ElementsOf = 'activations'): void => {
  if (address.space !== 'arena') throw new Error('a sum in the arena is none')
  const { count: ranks } = graph.shard!
  const received = gatherParts(builder, address.buffer, ranks)
  const { bytes } = address.buffer
  const count = bytes / (elements === 'activations' ? scope.activationBytes : scope.parameterBytes)
  copyElements(builder.launch, count, arenaOperand(received), address, 0, elements)
  if (ranks > 1) addParts(builder.launch, ranks - 1, count, arenaOperand(received, bytes), address, elements)
}

/**
 * After a segment's forward: of each output that it wrote, every rank gets the rows that it reads
 * and others own, or the sums or maxima of all rows. `sums` are those in the parameters' type that
 * are cast later.
 */
export const exchangeOutputs = (
  scope: ModelScope,
  code: SegmentCode,
  writes: (tensor: number) => boolean,
  sums: ReadonlyMap<number, TileTensor>
): void => {
  const { shard, nodes } = scope.graph
  for (const tensor of code.ends.outputs.filter(writes)) {
    const { tensor: whole, shared } = code.boundaries.get(tensor) ?? {}
    if (shard === undefined || whole === undefined || shared === undefined) continue
    const sum = sums.get(tensor)
    if (nodes[tensor - 1]!.accumulatesMaxima) mergeMaxima(scope, tensor - 1, whole)
    else if (sum !== undefined) addSums(scope, sum, 'parameters')
    else if (shared.isSummed) addSums(scope, whole)
    else if (!receiveRows(code, 'outputs', tensor)) sendRows(scope, whole, shared, shard, 'holder')
  }
}

/**
 * Exchanges the rows of the inputs of a segment that is emitted by itself, or of their gradients:
 * elsewhere the segments before it do so as they end.
 */
export const exchangeInputs = (scope: ModelScope, { ends, boundaries }: SegmentCode, what: 'outputs' | 'gradients'): void => {
  const { shard } = scope.graph
  for (const tensor of ends.inputs) {
    const { tensor: whole, gradient, shared } = boundaries.get(tensor) ?? {}
    const sent = what === 'outputs' ? whole : gradient
    if (shard !== undefined && shared !== undefined && sent !== undefined)
      sendRows(scope, sent, shared, shard, what === 'outputs' ? 'holder' : 'owner')
  }
}

/**
 * The gradient of a tensor that all ranks have made alike, of which each has contributions of its
 * rows.
 */
export const sumOverRanks = (gradient: WholeTensor): WholeTensor => {
  const buffer: Buffer = { ...gradient.buffer, share: { kind: 'alike' } }
  return { ...gradient, buffer, address: arenaOperand(buffer) }
}

/**
 * Before the backward of the last segment that reads a tensor in rows: what ran on all ranks alike
 * has made all of its gradient on each, of which the first rank's counts.
 */
export const leaveGradientsToFirstRank = (scope: ModelScope, { segment, ends, boundaries }: SegmentCode): void => {
  const { graph } = scope
  if (graph.shard === undefined || graph.shard.index === 0 || findShard(graph, segment) === undefined) return
  for (const tensor of ends.inputs) {
    const { gradient, readInParts } = boundaries.get(tensor) ?? {}
    const isReadAfter = graph.readers[tensor]!.some((reader) => reader >= segment.to)
    if (gradient !== undefined && isReadAfter && readInParts?.at(-1)?.from === segment.from) zeroBuffer(scope.builder, gradient.buffer)
  }
}

/**
 * The ends of a segment that all ranks run alike, between others that read its inputs in rows: what
 * it contributes to their gradients is the first rank's, and the others leave theirs.
 */
export const contributingOnce = (scope: ModelScope, code: SegmentCode): SegmentCode => {
  const { graph } = scope
  const { segment, ends, boundaries } = code
  if (graph.shard === undefined || graph.shard.index === 0 || findShard(graph, segment) !== undefined) return code
  const left = ends.inputs.flatMap((tensor) => {
    const boundary = boundaries.get(tensor)
    if (boundary?.gradient === undefined || !boundary.readInParts.some(({ from }) => from >= segment.to)) return []
    const gradient = wholeTensor(scope, tensor, boundary.gradient.identity, 'unwanted')
    zeroBuffer(scope.builder, gradient.buffer)
    return [[tensor, { ...boundary, gradient }] as const]
  })
  return left.length === 0 ? code : { ...code, boundaries: new Map([...boundaries, ...left]) }
}

/**
 * Before a segment's backward: what the readers of its outputs on other ranks have contributed to
 * the gradients of rows is added by the rank that owns those, in the order of ranks; of outputs
 * that all ranks have made alike, all add the contributions of all. Readers that run on all ranks
 * alike have made all of a gradient on each.
 */
export const exchangeGradients = (scope: ModelScope, code: SegmentCode): void => {
  const { shard } = scope.graph
  for (const tensor of code.ends.outputs) {
    const { gradient, shared, readInParts = [] } = code.boundaries.get(tensor) ?? {}
    if (shard === undefined || gradient === undefined || readInParts.length === 0) continue
    if (shared === undefined || shared.isSummed) addSums(scope, gradient)
    else if (!receiveRows(code, 'gradients', tensor)) sendRows(scope, gradient, shared, shard, 'owner')
  }
}
