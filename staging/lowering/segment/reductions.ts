import { tileIdentity, wholeIdentity } from '../ir/buffer-identity'
import { findShard } from '../../graph/shard'
import { countedPart } from '../../graph/shared-tensor'
import type { NormalisationNode } from '../../graph/statistics'
import { arenaOperand, noOperand, type Buffer, type UnplacedOperand } from '../ir/builder'
import type { Region, WholeTensor } from '../ir/tile-tensor'
import { statisticsCount, rowsOfTile, sumBytes } from '../../ops/moment-addresses'
import { zeroBuffer } from '../scope/copies'
import { trainableTensors } from '../scope/parameters'
import type { SegmentScope } from '../scope/scope'
import { isPending } from '../tile/moments'
import { emitPendingGradient, emitPendingGradientOfPart, emitReductionParameters } from '../tile/reduction-backward'
import { addSumsOfRanks } from './merge-statistics'
import { findInputGradient, type SegmentBackward } from './segment-backward'

/**
 * The gradient of a normalisation's output that is not complete before all tiles are done, and of
 * which tensor it is the input's then.
 */
export interface PendingOutput {
  readonly position: number
  readonly tensor: number
  readonly dy: WholeTensor
}

/** The normalisations whose backward a segment runs. */
export interface Reductions {
  readonly positions: readonly number[]
  /** By position: sums for the gradients of parameters and input, where either is wanted. */
  readonly sums: ReadonlyMap<number, Buffer>
  /** Outputs of which the gradient of the input is made after the tiles. */
  readonly pending: readonly PendingOutput[]
  /** Positions of those whose output's gradient waits on the host. */
  readonly waiting: readonly number[]
}

const nodeAt = ({ scope }: Pick<SegmentBackward, 'scope'>, position: number): NormalisationNode =>
  scope.graph.nodes[position] as NormalisationNode

const createSums = (backward: SegmentBackward, positions: readonly number[]): ReadonlyMap<number, Buffer> => {
  const { scope } = backward
  return new Map(
    positions.flatMap((position) => {
      const node = nodeAt(backward, position)
      const { name, inputs, input, statistics } = node
      const isWanted = trainableTensors(scope.parameters[position]).length > 0 || (statistics.fromInput && scope.requiresGrad[inputs[0]!]!)
      return isWanted
        ? [[position, scope.builder.buffer(tileIdentity('sums', name), statisticsCount(node) * input[1] * sumBytes)] as const]
        : []
    })
  )
}

/** The gradient of an output takes the place of the input's where nothing else reads that. */
const createPending = (backward: SegmentBackward, position: number): readonly PendingOutput[] => {
  const { scope, code } = backward
  const node = nodeAt(backward, position)
  const tensor = node.inputs[0]!
  if (!isPending(scope.graph, code.segment, node)) return []
  const whole = findInputGradient(backward, tensor)
  if (whole === undefined || whole === 'stepIo') return []
  if (scope.graph.readers[tensor]!.length === 1) return [{ position, tensor, dy: whole }]
  const identity = wholeIdentity('output-gradient', node.name)
  const buffer = scope.builder.buffer(identity, whole.buffer.bytes)
  return [{ position, tensor, dy: { ...whole, buffer, identity, address: arenaOperand(buffer) } }]
}

/** Before the tiles: zeroed places for what they add up. */
export const prepareReductions = (backward: SegmentBackward): Reductions => {
  const { scope, code } = backward
  const positions = backward.positions.filter(
    (position) => scope.graph.nodes[position]!.statistics !== undefined && scope.requiresGrad[position + 1]!
  )
  const sums = createSums(backward, positions)
  sums.forEach((buffer) => zeroBuffer(scope.builder, buffer))
  const pending = positions.flatMap((position) => createPending(backward, position))
  pending.forEach(({ dy }) => zeroBuffer(scope.builder, dy.buffer))
  const waiting = positions.filter((position) => {
    const node = nodeAt(backward, position)
    return isPending(scope.graph, code.segment, node) && code.hostTensors.get(node.inputs[0]!)?.gradient !== undefined
  })
  return { positions, sums, pending, waiting }
}

/** Where a tile of a normalisation's input adds to its sums; nowhere where none are wanted. */
export const sumsAt = (backward: SegmentBackward, { sums }: Reductions, position: number, region: Region): UnplacedOperand => {
  const buffer = sums.get(position)
  const { statistics, input } = nodeAt(backward, position)
  return buffer === undefined ? noOperand : rowsOfTile(arenaOperand(buffer), statistics, region, input[1] * sumBytes)
}

const emitParameters = ({ scope, sumOf }: SegmentBackward, { sums }: Reductions, position: number): void =>
  emitReductionParameters(scope, position, arenaOperand(sums.get(position)!), { sumOf })

const finishParameters = ({ scope, finish }: SegmentBackward, position: number): void =>
  finish(trainableTensors(scope.parameters[position]))

/** The gradients of a normalisation's parameters, once its sums are complete. */
export const finishReduction = (backward: SegmentBackward, reductions: Reductions, position: number): void => {
  emitParameters(backward, reductions, position)
  finishParameters(backward, position)
}

/** After the tiles: what waited for all of them, but for what waits on the host still. */
export const finishReductions = (backward: SegmentBackward, reductions: Reductions, inside: SegmentScope): void => {
  const { scope, code, pass } = backward
  const shard = findShard(scope.graph, code.segment)
  const complete = reductions.positions.filter((position) => reductions.sums.has(position) && !reductions.waiting.includes(position))
  for (const position of complete) {
    const buffer = reductions.sums.get(position)!
    const wait = reductions.pending.find((one) => one.position === position)
    const makeInputGradient = (): void => {
      if (wait === undefined) return
      const { tensor, gradient, shared } = code.boundaries.get(wait.tensor)!
      const slope = pass.negativeSlopeOf(position)
      const whole = { source: tensor, dy: wait.dy, gradient: gradient!, sums: arenaOperand(buffer), slope }
      if (shard === undefined) return emitPendingGradient(inside, position, whole)
      addSumsOfRanks(scope, buffer)
      const [images, , rows] = tensor.extents
      const isOnAll = shared === undefined || shared.isSummed
      const own = isOnAll ? countedPart({ images, rows }, shard) : shared.partOf(shard.index).owned
      emitPendingGradientOfPart(inside, position, whole, own)
    }
    // Where ranks share images or rows, each has its part of the gradients of parameters.
    if (shard === undefined) makeInputGradient()
    emitParameters(backward, reductions, position)
    if (shard !== undefined) makeInputGradient()
  }
  // Behind all of them, so that a GPU does launches of one kernel at once.
  complete.forEach((position) => finishParameters(backward, position))
}
