import type { Optimizer } from '../../graph/objective'
import { arenaOperand, type Buffer, type Builder, type UnplacedOperand } from '../ir/builder'
import { waitForEngine } from '../ir/wait-for-engine'
import type { ParameterTensor } from '../scope/parameter-tensor'
import { updateElements } from '../scope/parameters'
import { splitPieces, type Reduction } from './pieces'
import { zeroBuffer } from '../scope/copies'
import { gatherPieces } from './reduce'

/** A piece of a parameter, and the rank's slice of it, which is updated in a place of its own. */
interface OwnPiece {
  readonly parameter: ParameterTensor
  readonly state: readonly Buffer[]
  readonly offset: number
  readonly sumOffset: number
  readonly sliceBytes: number
}

/**
 * One update of all parameters by their sums of gradients: each rank takes its slice of a piece of
 * the weights, updates it, and sends it to all, while the next one is updated.
 */
export const updateSlices = (
  builder: Builder,
  optimizer: Optimizer,
  parameters: readonly ParameterTensor[],
  stateOf: (parameter: ParameterTensor) => readonly Buffer[],
  reduction: Reduction
): void => {
  const { ranks, parameterBytes } = reduction
  const pieces = parameters.flatMap((parameter) =>
    splitPieces(parameter, reduction).map((piece): OwnPiece => ({ ...piece, parameter, state: stateOf(parameter) }))
  )
  const buffers = pieces.slice(0, 2).map((_, parity) => {
    const slices = pieces.filter((_, index) => index % 2 === parity).map(({ sliceBytes }) => sliceBytes)
    return builder.buffer({ kind: 'own-weights' }, Math.max(...slices))
  })
  /** What each slice's own place waits for: the slice before it has been sent. */
  const sent: number[] = []
  pieces.forEach(({ parameter, state, offset, sumOffset, sliceBytes }, index) => {
    const own = arenaOperand(buffers[index % 2]!)
    const before = sent[index - 2]
    if (before !== undefined) builder.wait('compute', before)
    builder.ownSlice({ ranks, bytes: sliceBytes, from: arenaOperand(parameter.buffer, offset), to: own })
    updateElements(builder, optimizer, {
      learning: parameter.learning!,
      count: sliceBytes / parameterBytes,
      weights: own,
      gradient: arenaOperand(parameter.sum!, sumOffset),
      state: state.map((part) => arenaOperand(part, sumOffset))
    })
    waitForEngine(builder, 'network', 'compute')
    builder.allToAll({
      ...{ ranks, apart: 1, bytes: sliceBytes, sendStride: 0, receiveStride: sliceBytes },
      send: own,
      receive: arenaOperand(parameter.buffer, offset)
    })
    const gathered = builder.freshEvent()
    builder.record('network', gathered)
    sent.push(gathered)
  })
  // What is sent last keeps its place until then.
  sent.slice(-2).forEach((gathered, place) => builder.wait('compute', gathered, buffers[(Math.max(0, pieces.length - 2) + place) % 2]!))
}

/**
 * Fills a rank's slices of an optimizer state: `fill` leaves all of it where the gradient is, which
 * is not kept.
 */
export const restoreSlices = (
  builder: Builder,
  parameter: ParameterTensor,
  state: Buffer,
  reduction: Reduction,
  fill: (whole: UnplacedOperand) => void
): void => {
  // What fills slices up is zero.
  const whole = parameter.gradient!
  zeroBuffer(builder, whole)
  fill(arenaOperand(whole))
  for (const { offset, sumOffset, sliceBytes } of splitPieces(parameter, reduction))
    builder.ownSlice({
      ...{ ranks: reduction.ranks, bytes: sliceBytes },
      from: arenaOperand(whole, offset),
      to: arenaOperand(state, sumOffset)
    })
}

/**
 * Gathers an optimizer state from the slices of all ranks for `use`, in the place of the gradient,
 * which is zero before and after.
 */
export const gatherSlices = (
  builder: Builder,
  parameter: ParameterTensor,
  state: Buffer,
  reduction: Reduction,
  use: (whole: UnplacedOperand) => void
): void => {
  waitForEngine(builder, 'network', 'compute')
  gatherPieces(builder, parameter, state, reduction)()
  use(arenaOperand(parameter.gradient!))
  zeroBuffer(builder, parameter.gradient!)
}
