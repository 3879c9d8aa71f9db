import type { Optimizer } from '../../graph/objective'
import { arenaOperand, createBuilder, type Buffer, type Builder, type Pool, type UnplacedInstruction } from '../ir/builder'
import { contiguousCopy } from '../ir/contiguous-copy'
import { waitForEngine } from '../ir/wait-for-engine'
import type { ParameterTensor } from '../scope/parameter-tensor'
import { updateElements, updateParameter } from '../scope/parameters'
import { groupOptimizerStates, isOptimizerState, type UnplacedPersistentTensor } from '../scope/persistent-tensors'

/**
 * The most bytes of a state that come at once: enough for a link's rate, and little beside what a
 * step keeps.
 */
const mostLoadedBytes = 2 ** 20

/**
 * How many pieces come ahead of the one that is updated, at most, and at most of all pieces; fewer
 * where they come while computing goes on, beside gradients that wait.
 */
const mostAhead = 8
const mostAheadPaced = 4
const shareAhead = 1 / 16

/** How many of so many pieces come before the one that is updated. */
export const updatesAhead = (pieces: number, isPaced: boolean): number =>
  Math.max(1, Math.min(isPaced ? mostAheadPaced : mostAhead, Math.floor(shareAhead * pieces)))

/** The updates of parameters that a section emits, outside of loops. */
export interface OptimizerUpdates {
  /** Updates a parameter from its complete gradient, which must stay as it is until `finish`. */
  readonly update: (parameter: ParameterTensor, gradient: Buffer) => void
  /** Updates what is left, and computing waits until all state is where it belongs. */
  readonly finish: () => void
  /**
   * What stands before the instruction at a position of the section's code: transfers of state to
   * the device.
   */
  readonly loads: () => ReadonlyMap<number, readonly UnplacedInstruction[]>
}

/** State of a piece of a parameter on its way back to the host. */
interface Leaving {
  readonly states: readonly Buffer[]
  readonly left: number
}

/**
 * Updates by state on the device or, of some parameters, on the host (as ZeRO-Offload keeps it, Ren
 * 2021, where the host updates too). Piece by piece of these, state comes, the piece is updated and
 * its state leaves: it comes some updates ahead, and leaves while the next piece is updated. With
 * `counts`, so many of the pieces that wait are updated wherever a gradient is complete, and the
 * others in the end.
 */
export const createOptimizerUpdates = (
  builder: Builder,
  pool: Pool,
  optimizer: Optimizer,
  persistentTensors: readonly UnplacedPersistentTensor[],
  parameterBytes: number,
  counts?: readonly number[]
): OptimizerUpdates => {
  const stateOf = groupOptimizerStates(persistentTensors)
  const elementsOfPiece = Math.floor(mostLoadedBytes / parameterBytes)
  const onHost = new Set(persistentTensors.flatMap((tensor) => (tensor.onHost && isOptimizerState(tensor) ? [tensor.parameter] : [])))
  const pieces = [...onHost].reduce((sum, { elements }) => sum + Math.ceil(elements / elementsOfPiece), 0)
  const ahead = updatesAhead(pieces, counts !== undefined)
  const loads = new Map<number, readonly UnplacedInstruction[]>()
  const leaving: Leaving[] = []
  /** Where the code of each update by such state begins. */
  const positions: number[] = []
  /** Where the first one could begin. */
  let earliest: number | undefined
  /** Updates of pieces whose gradients are complete. */
  const waiting: (() => void)[] = []
  let completed = 0
  const release = (kept: number): void => {
    for (const { left, states } of leaving.splice(0, leaving.length - kept))
      for (const state of states) builder.wait('compute', left, state)
  }
  const updatePiece = (parameter: ParameterTensor, gradient: Buffer, first: number): void => {
    const count = Math.min(elementsOfPiece, parameter.elements - first)
    const [offset, bytes] = [first * parameterBytes, count * parameterBytes]
    const parts = stateOf(parameter).map((state) => ({
      host: arenaOperand(state, offset),
      device: arenaOperand(builder.buffer({ kind: 'loaded-state', parameter: parameter.name }, bytes))
    }))
    release(ahead)
    const [position, loaded, left] = [builder.code().length, builder.freshEvent(), builder.freshEvent()]
    const load = createBuilder(pool)
    waitForEngine(load, 'to-device', 'compute')
    for (const { host, device } of parts) load.copy(contiguousCopy('to-device', bytes, device, host))
    load.record('to-device', loaded)
    positions.push(position)
    const at = positions[positions.length - 1 - ahead] ?? earliest!
    loads.set(at, [...(loads.get(at) ?? []), ...load.code()])
    builder.wait('compute', loaded)
    updateElements(builder, optimizer, {
      learning: parameter.learning!,
      count,
      weights: arenaOperand(parameter.buffer, offset),
      gradient: arenaOperand(gradient, offset),
      state: parts.map(({ device }) => device)
    })
    waitForEngine(builder, 'to-host', 'compute')
    for (const { host, device } of parts) builder.copy(contiguousCopy('to-host', bytes, device, host))
    builder.record('to-host', left)
    leaving.push({ states: parts.map(({ device }) => device.buffer), left })
  }
  const updateWaiting = (count = waiting.length): void => waiting.splice(0, count).forEach((update) => update())
  return {
    update: (parameter, gradient) => {
      if (counts !== undefined || onHost.has(parameter)) earliest ??= builder.code().length
      if (onHost.has(parameter)) {
        for (let from = 0; from < parameter.elements; from += elementsOfPiece) waiting.push(() => updatePiece(parameter, gradient, from))
      } else updateParameter(builder, optimizer, parameter, gradient, stateOf(parameter))
      updateWaiting(counts && (counts[completed++] ?? 0))
    },
    finish: () => {
      updateWaiting()
      release(0)
    },
    loads: () => loads
  }
}
