import { parameterType, type Exchanged, type Section } from '../../program/program'
import type { Context } from '../scope/scope'
import { at, createEmitter, exchanged, type Emitter, type Pool } from '../ir/builder'
import { reorderParameter } from '../scope/parameters'
import type { StatePart } from '../scope/persistent-tensors'
import { resolve, type Placed } from '../placement/resolve'

/** Weights and optimizer state between the arena and plain tensors, one after the other in the exchange buffer. */
export const transferSection = (
  { parameterBytes, device }: Context,
  pool: Pool,
  residents: readonly StatePart[],
  placed: Placed,
  direction: 'restore' | 'save'
): Section => {
  const emit: Emitter = createEmitter(pool)
  const entries: Exchanged[] = []
  let offset = 0
  for (const { name, role, parameter, buffer } of residents) {
    if (role === 'gradient') {
      if (direction === 'restore') emit.launch<'zero'>({ kind: 'zero', bytes: buffer.bytes }, { destination: at(buffer) })
      continue
    }
    const [inside, outside] = [[at(buffer), parameter.layout] as const, [exchanged(offset), 'plain'] as const]
    if (direction === 'restore') reorderParameter(emit, parameter, outside, inside)
    else reorderParameter(emit, parameter, inside, outside)
    entries.push({ name, type: parameterType(device.precision), shape: parameter.shape, offset })
    offset += parameter.shape.reduce((product, extent) => product * extent, parameterBytes)
  }
  return { code: resolve(emit.code(), placed), exchangeBytes: offset, exchanged: entries }
}
