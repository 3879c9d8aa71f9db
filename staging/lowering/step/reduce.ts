import { arenaOperand, type Buffer, type Builder } from '../ir/builder'
import { waitForEngine } from '../ir/wait-for-engine'
import { addParts } from '../scope/copies'
import type { ParameterTensor } from '../scope/parameter-tensor'
import { trainableTensors } from '../scope/parameters'
import { runningMoments } from '../scope/running-moments'
import type { ModelScope } from '../scope/scope'
import { mostRanks, sharesMicroBatches } from '../../graph/objective'
import { mostPieceBytes, splitPieces, type Piece, type Reduction } from './pieces'
import { momentBytes } from '../../ops/moment-addresses'
import { launchUpdateRunning } from '../tile/moments'

/** Zeroes all of a buffer. */
export const zero = (builder: Builder, buffer: Buffer): void =>
  builder.launch<'zero'>({ kind: 'zero', bytes: buffer.bytes }, { destination: arenaOperand(buffer) })

/**
 * Sends to each rank its slice of a piece of a gradient, and receives what all have of one's own.
 */
export const sendPiece = (
  builder: Builder,
  { gradient }: ParameterTensor,
  { offset, sliceBytes }: Piece,
  received: Buffer,
  { ranks }: Reduction
): void =>
  builder.allToAll({
    ...{ ranks, bytes: sliceBytes, sendStride: sliceBytes, receiveStride: sliceBytes },
    send: arenaOperand(gradient!, offset),
    receive: arenaOperand(received)
  })

/** Adds what all ranks have sent of one's own slice to its sum, in the order of ranks. */
export const addPiece = (
  launch: Builder['networkLaunch'],
  { sum }: ParameterTensor,
  { sumOffset, sliceBytes }: Piece,
  received: Buffer,
  { ranks, parameterBytes }: Reduction
): void => addParts(launch, ranks, sliceBytes / parameterBytes, arenaOperand(received), arenaOperand(sum!, sumOffset))

/** Adds the gradients of all ranks to the slices that this one keeps of their sums. */
const reduceGradients = (builder: Builder, parameters: readonly ParameterTensor[], reduction: Reduction): void => {
  const { ranks } = reduction
  const pieces = parameters.flatMap((parameter) => {
    const own = splitPieces(parameter.gradient!, reduction)
    return own.map((piece, index) => ({ ...piece, parameter, isLast: index === own.length - 1 }))
  })
  // One is received while the one before is added.
  const buffers = pieces.slice(0, 2).map((_, parity) => {
    const largest = Math.max(...pieces.map(({ sliceBytes }, index) => (index % 2 === parity ? ranks * sliceBytes : 0)))
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
    if (isLast) zero(builder, parameter.gradient!)
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
      zero(builder, received)
      waitForEngine(builder, 'network', 'compute')
      builder.allToAll({
        ...{ ranks, bytes, sendStride: 0, receiveStride: bytes },
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
  for (const parameter of parameters) if (added.has(parameter)) zero(builder, parameter.gradient!)
}

/**
 * Gathers what all ranks have slices of, beside what computes; returns what waits for it.
 */
export const gatherPieces = (builder: Builder, slices: Buffer, whole: Buffer, reduction: Reduction): (() => void) => {
  const { ranks } = reduction
  for (const { offset, sumOffset, sliceBytes } of splitPieces(whole, reduction))
    builder.allToAll({
      ...{ ranks, bytes: sliceBytes, sendStride: 0, receiveStride: sliceBytes },
      send: arenaOperand(slices, sumOffset),
      receive: arenaOperand(whole, offset)
    })
  const gathered = builder.freshEvent()
  builder.record('network', gathered)
  return () => builder.wait('compute', gathered)
}
