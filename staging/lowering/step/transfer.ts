import type { StepIoEntry } from '../../program/program'
import { parameterType } from '../../kernels/precision'
import type { ModelScope } from '../scope/scope'
import { arenaOperand, createBuilder, stepIoOperand, type Buffer, type Builder, type Pool, type UnplacedOperand } from '../ir/builder'
import { contiguousCopy } from '../ir/contiguous-copy'
import { waitForEngine } from '../ir/wait-for-engine'
import { reorderParameter } from '../scope/parameters'
import { isOptimizerState, isZeroBetweenUpdates, type UnplacedPersistentTensor } from '../scope/persistent-tensors'
import type { Reduction } from './pieces'
import { zeroBuffer } from '../scope/copies'
import { gatherSlices, restoreSlices } from './shard-optimizer'
import type { UnplacedSection } from './step'

/** Copies a tensor between its place on the host and one on the device; computing waits for it. */
const moveWhole = (builder: Builder, engine: 'to-device' | 'to-host', device: Buffer, host: Buffer): void => {
  const moved = builder.freshEvent()
  builder.copy(contiguousCopy(engine, host.bytes, arenaOperand(device), arenaOperand(host)))
  builder.record(engine, moved)
  builder.wait('compute', moved, device)
}

/**
 * Weights and optimizer state between the arena and plain tensors, one after the other in the
 * I/O buffer.
 */
export const transferSection = (
  scope: ModelScope,
  pool: Pool,
  persistentTensors: readonly UnplacedPersistentTensor[],
  direction: 'restore' | 'save',
  reduction: Reduction | undefined
): UnplacedSection => {
  const builder: Builder = createBuilder(pool)
  const { parameterBytes, device } = scope
  const entries: StepIoEntry[] = []
  let offset = 0
  for (const tensor of persistentTensors) {
    const { name, role, parameter, buffer } = tensor
    if (isZeroBetweenUpdates(role)) {
      if (direction === 'restore') zeroBuffer(builder, buffer)
      continue
    }
    const outside = [stepIoOperand(offset), 'plain'] as const
    const restoreTo = (whole: UnplacedOperand): void => reorderParameter(builder, parameter, outside, [whole, parameter.layout])
    const saveFrom = (whole: UnplacedOperand): void => reorderParameter(builder, parameter, [whole, parameter.layout], outside)
    const slices = reduction?.shardsOptimizer === true && isOptimizerState(tensor) ? reduction : undefined
    if (slices !== undefined)
      if (direction === 'restore') restoreSlices(builder, parameter, buffer, slices, restoreTo)
      else gatherSlices(builder, parameter, buffer, slices, saveFrom)
    else if (tensor.onHost) {
      // A gradient that is kept is zero before, and zeroed after.
      const whole = parameter.gradient ?? builder.buffer({ kind: 'loaded-state', parameter: parameter.name }, buffer.bytes)
      if (direction === 'restore') {
        restoreTo(arenaOperand(whole))
        waitForEngine(builder, 'to-host', 'compute')
        moveWhole(builder, 'to-host', whole, buffer)
      } else {
        waitForEngine(builder, 'to-device', 'compute')
        moveWhole(builder, 'to-device', whole, buffer)
        saveFrom(arenaOperand(whole))
        if (whole === parameter.gradient) zeroBuffer(builder, whole)
      }
    } else if (direction === 'save') saveFrom(arenaOperand(buffer))
    else {
      // What fills the weights up to slices of one size.
      const bytes = parameter.elements * parameterBytes
      if (buffer.bytes > bytes)
        builder.launch<'zero'>({ kind: 'zero', bytes: buffer.bytes - bytes }, { destination: arenaOperand(buffer, bytes) })
      restoreTo(arenaOperand(buffer))
    }
    entries.push({ name, type: parameterType(device.precision), shape: parameter.shape, offset })
    offset += parameter.shape.reduce((product, extent) => product * extent, parameterBytes)
  }
  return { name: direction, code: builder.code(), stepIo: { bytes: offset, entries } }
}
