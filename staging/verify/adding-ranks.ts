import type { PersistentTensor, Program } from '../program/program'
import type { AllToAll } from '../program/rank-instructions'
import { shardsOptimizer } from './shards-of-optimizer'

/** Ranks that add a gradient, and how far apart they are. */
export type AddingRanks = Pick<AllToAll, 'ranks' | 'apart'>

/** The gradient that has a byte of the arena. */
export const gradientAt = ({ persistentTensors }: Program, byte: number): PersistentTensor | undefined =>
  persistentTensors.find(({ role, offset, bytes }) => role === 'gradient' && offset <= byte && byte < offset + bytes)

/**
 * Which of all ranks add a parameter's gradient: all, or, where those that share a batch compute it
 * alike, one of each group of them.
 */
export const addingRanks = ({ shard }: Program, parameter: string, all: number): AddingRanks =>
  shard?.replicated.includes(parameter) === true ? { ranks: shard.groups, apart: shard.count } : { ranks: all, apart: 1 }

/** A piece of a gradient, of which an exchange sends slices. */
export interface SentPiece {
  /** Its first byte in the arena. */
  readonly base: number
  readonly bytes: number
}

/**
 * The piece of which an exchange sends a slice to each rank that adds it. Ranks that compute it
 * alike send each its own slices where each updates its own; else the same.
 */
export const sentPiece = ({ shard, update }: Program, { ranks, apart, bytes, sendStride, send }: AllToAll): SentPiece | undefined => {
  const [place, slices] = shardsOptimizer(update) && apart > 1 ? [shard?.index ?? 0, apart] : [0, 1]
  return sendStride === slices * bytes ? { base: send.base - place * bytes, bytes: ranks * slices * bytes } : undefined
}
