import { type StepIoEntry, type Section } from '../../program/program'
import { parameterType } from '../../kernels/precision'
import type { ModelScope } from '../scope/scope'
import { arenaOperand, createBuilder, stepIoOperand, type Builder, type Pool } from '../ir/builder'
import { reorderParameter } from '../scope/parameters'
import { isZeroBetweenUpdates, type UnplacedPersistentTensor } from '../scope/persistent-tensors'
import { resolve, type Placed } from '../placement/resolve'

/**
 * Weights and optimizer state between the arena and plain tensors, one after the other in the
 * I/O buffer.
 */
export const transferSection = (
  { parameterBytes, device }: ModelScope,
  pool: Pool,
  persistentTensors: readonly UnplacedPersistentTensor[],
  placed: Placed,
  direction: 'restore' | 'save'
): Section => {
  const builder: Builder = createBuilder(pool)
  const entries: StepIoEntry[] = []
  let offset = 0
  for (const { name, role, parameter, buffer } of persistentTensors) {
    if (isZeroBetweenUpdates(role)) {
      if (direction === 'restore') builder.launch<'zero'>({ kind: 'zero', bytes: buffer.bytes }, { destination: arenaOperand(buffer) })
      continue
    }
    const [inside, outside] = [[arenaOperand(buffer), parameter.layout] as const, [stepIoOperand(offset), 'plain'] as const]
    if (direction === 'restore') reorderParameter(builder, parameter, outside, inside)
    else reorderParameter(builder, parameter, inside, outside)
    entries.push({ name, type: parameterType(device.precision), shape: parameter.shape, offset })
    offset += parameter.shape.reduce((product, extent) => product * extent, parameterBytes)
  }
  return { code: resolve(builder.code(), placed), stepIoBytes: offset, stepIo: entries }
}
