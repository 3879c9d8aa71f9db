import { arenaOperand, type Buffer, type Builder } from '../ir/builder'
import { waitForEngine } from '../ir/wait-for-engine'
import { addParts, zeroBuffer } from '../scope/copies'
import type { ParameterTensor } from '../scope/parameter-tensor'
import { trainableTensors } from '../scope/parameters'
import { runningMoments } from '../scope/running-moments'
import type { ModelScope } from '../scope/scope'
import { mostRanks, sharesMicroBatches } from '../../graph/objective'
import { mostPieceBytes, splitPieces, type Piece, type Reduction } from './pieces'
import { momentBytes } from '../../ops/moment-addresses'
import { launchUpdateRunning } from '../tile/moments'

/**
 * Sends to each rank that adds a gradient its slice of a piece of it, and receives what all have of
 * one's own.
 */
export const sendPiece = (
  builder: Builder,
  parameter: ParameterTensor,
  { offset, sliceBytes }: Piece,
  received: Buffer,
  { addedBy, shardsOptimizer }: Reduction
): void => {
  const { ranks, apart, place } = addedBy(parameter)
  // Each rank updates slices of its own, those too that have the same gradient.
  const [first, stride] = shardsOptimizer ? [place, apart] : [0, 1]
  builder.allToAll({
    ...{ ranks, apart, bytes: sliceBytes, sendStride: stride * sliceBytes, receiveStride: sliceBytes },
    send: arenaOperand(parameter.gradient!, offset + first * sliceBytes),
    receive: arenaOperand(received)
  })
}

/** Adds what ranks have sent of one's own slice to its sum, in their order. */
export const addPiece = (
  launch: Builder['networkLaunch'],
  parameter: ParameterTensor,
  { sumOffset, sliceBytes }: Piece,
  received: Buffer,
  { addedBy, parameterBytes }: Reduction
): void =>
  addParts(launch, addedBy(parameter).ranks, sliceBytes / parameterBytes, arenaOperand(received), arenaOperand(parameter.sum!, sumOffset))

/** Adds the gradients of all ranks to the slices that this one keeps of their sums. */
const reduceGradients = (builder: Builder, parameters: readonly ParameterTensor[], reduction: Reduction): void => {
  const { addedBy } = reduction
  const pieces = parameters.flatMap((parameter) => {
    const own = splitPieces(parameter, reduction)
    return own.map((piece, index) => ({ ...piece, parameter, isLast: index === own.length - 1 }))
  })
  // One is received while the one before is added.
  const buffers = pieces.slice(0, 2).map((_, parity) => {
    const largest = Math.max(
      ...pieces.map(({ sliceBytes, parameter }, index) => (index % 2 === parity ? addedBy(parameter).ranks * sliceBytes : 0))
    )
    return builder.buffer({ kind: 'received-gradients' }, largest)
  })
  const bufferOf = (index: number): Buffer => buffers[index % 2]!
  const receive = (index: number): (() => void) => {
    const piece = pieces[index]!
    waitForEngine(builder, 'network', 'compute')
    sendPiece(builder, piece.parameter, piece, bufferOf(index), reduction)
    const arrived = builder.freshEvent()
    builder.record('network', arrived)
    return () => builder.wait('compute', arrived)
  }
  let wait = pieces.length === 0 ? () => undefined : receive(0)
  pieces.forEach((piece, index) => {
    const { parameter, isLast } = piece
    const next = index + 1 < pieces.length ? receive(index + 1) : () => undefined
    wait()
    wait = next
    addPiece(builder.launch, parameter, piece, bufferOf(index), reduction)
    if (isLast) zeroBuffer(builder, parameter.gradient!)
  })
}

/** Running statistics take in the moments of all ranks, in the order of their micro-batches. */
const reduceMoments = (scope: ModelScope, builder: Builder, { ranks, ranksOfImage, slices }: Reduction): void => {
  const places = Math.min(slices, mostRanks)
  const channelsAtOnce = Math.max(1, Math.floor(mostPieceBytes / (places * momentBytes)))
  for (const [position, moments] of runningMoments(scope)) {
    const channels = moments.bytes / momentBytes
    for (let first = 0; first < channels; first += channelsAtOnce) {
      const count = Math.min(channelsAtOnce, channels - first)
      const bytes = count * momentBytes
      const received = builder.buffer({ kind: 'received-moments' }, places * bytes)
      // All of it, so that the plan's bytes are those of any number of ranks.
      zeroBuffer(builder, received)
      waitForEngine(builder, 'network', 'compute')
      builder.allToAll({
        ...{ ranks, apart: 1, bytes, sendStride: 0, receiveStride: bytes },
        send: arenaOperand(moments, first * momentBytes),
        receive: arenaOperand(received)
      })
      waitForEngine(builder, 'compute', 'network')
      for (let rank = 0; rank < ranks; rank += ranksOfImage)
        launchUpdateRunning({ ...scope, builder }, position, { first, count }, arenaOperand(received, rank * bytes))
    }
  }
}

/**
 * After a step, which left the gradients and moments of one micro-batch; gradients that it has
 * `added` already start at zero again.
 */
export const emitReduce = (scope: ModelScope, builder: Builder, reduction: Reduction, added: ReadonlySet<ParameterTensor>): void => {
  if (sharesMicroBatches(scope.graph.objective)) reduceMoments(scope, builder, reduction)
  const parameters = scope.parameters.flatMap(trainableTensors)
  reduceGradients(
    builder,
    parameters.filter((parameter) => !added.has(parameter)),
    reduction
  )
  for (const parameter of parameters) if (added.has(parameter)) zeroBuffer(builder, parameter.gradient!)
}

/**
 * Gathers what ranks have slices of in the place of a parameter's gradient, beside what computes;
 * returns what waits for it.
 */
export const gatherPieces = (builder: Builder, parameter: ParameterTensor, slices: Buffer, reduction: Reduction): (() => void) => {
  const { ranks, apart } = reduction.shardsOptimizer ? { ranks: reduction.ranks, apart: 1 } : reduction.addedBy(parameter)
  for (const { offset, sumOffset, sliceBytes } of splitPieces(parameter, reduction))
    builder.allToAll({
      ...{ ranks, apart, bytes: sliceBytes, sendStride: 0, receiveStride: sliceBytes },
      send: arenaOperand(slices, sumOffset),
      receive: arenaOperand(parameter.gradient!, offset)
    })
  const gathered = builder.freshEvent()
  builder.record('network', gathered)
  return () => builder.wait('compute', gathered)
}
