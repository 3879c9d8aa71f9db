import type { Instruction, PersistentTensor, Program } from './program'
import type { ProgramBuffer } from './program-buffer'
import type { AllToAll, Exchange } from './rank-instructions'

/** An instruction of the network engine that every rank runs at once. */
export type NetworkInstruction = AllToAll | Exchange

/** Returns what a section exchanges with other ranks, which no loop does, in its order. */
export const listExchanges = (code: readonly Instruction[]): readonly NetworkInstruction[] =>
  code.filter((one): one is NetworkInstruction => one.kind === 'allToAll' || one.kind === 'exchange')

/** Returns the names of the tensors that hold gradients of parameters. */
export const gradientNames = (persistentTensors: readonly PersistentTensor[]): ReadonlySet<string> =>
  new Set(persistentTensors.flatMap(({ name, role }) => (role === 'gradient' ? [name] : [])))

/** Returns the name of the buffer that an exchange of all with all sends; of another none. */
export const nameOfSent = ({ buffers }: Pick<Program, 'buffers'>, one: NetworkInstruction): string | undefined =>
  one.kind === 'allToAll' ? buffers[one.send.buffer ?? -1]?.name : undefined

/**
 * Whether what a step sends from here to all ranks alike is rows of a tensor: no sum, no statistics
 * and no gradient of a parameter.
 */
export const isOfRows = (
  { shard }: Pick<Program, 'shard'>,
  { name, role, share }: Pick<ProgramBuffer, 'name' | 'share'> & Partial<Pick<ProgramBuffer, 'role'>>
): boolean => shard !== undefined && role !== 'persistent' && share === undefined && !shard.merged.includes(name)
