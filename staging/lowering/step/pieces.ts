import { gradientSlices, ranksOfImage, ranksOfOptimizer, reducingRanks } from '../../graph/objective'
import type { Segment } from '../../plans/plan'
import type { ParameterTensor } from '../scope/parameter-tensor'
import type { ModelScope } from '../scope/scope'
import { listReplicated } from './replicated'

/**
 * The most bytes that ranks exchange at once: larger messages are slower, and take memory of MPI's
 * own that no budget knows of.
 */
export const mostPieceBytes = 4 * 2 ** 20

/** A part of a gradient, which is cut into one slice a rank. */
export interface Piece {
  /** Bytes from the gradient's beginning. */
  readonly offset: number
  /** Where a rank keeps its slice of the sum of gradients: bytes from the sum's beginning. */
  readonly sumOffset: number
  /** Bytes of a slice. */
  readonly sliceBytes: number
}

/** Ranks that add a gradient: all of them, or one of each group whose ranks all have the same. */
export interface AddingRanks {
  readonly ranks: number
  /** How far apart they are. */
  readonly apart: number
  /** This rank's place among those that have the same. */
  readonly place: number
}

/** How ranks add gradients. */
export interface Reduction {
  readonly ranks: number
  /** Ranks that share the rows of an image, one after the other: they have the same moments. */
  readonly ranksOfImage: number
  /** Which ranks add a parameter's gradient. */
  readonly addedBy: (parameter: ParameterTensor) => AddingRanks
  /** Equal slices into which every gradient can be cut: a multiple of the ranks. */
  readonly slices: number
  /** Bytes of a gradient's element. */
  readonly parameterBytes: number
  /** Whether each rank updates its slices alone, which it keeps one after the other. */
  readonly shardsOptimizer: boolean
}

/** How ranks add gradients; undefined where no ranks do. */
export const createReduction = (scope: ModelScope, segments: readonly Segment[]): Reduction | undefined => {
  const { graph, parameterBytes } = scope
  const { objective, shard } = graph
  const ranks = reducingRanks(objective)
  if (ranks === undefined) return undefined
  const all: AddingRanks = { ranks, apart: 1, place: 0 }
  const oneOfEach: AddingRanks = shard === undefined ? all : { ranks: ranks / shard.count, apart: shard.count, place: shard.index }
  const replicated = new Set(listReplicated(scope, segments))
  return {
    ranks,
    ranksOfImage: ranksOfImage(objective),
    addedBy: (parameter) => (replicated.has(parameter) ? oneOfEach : all),
    slices: gradientSlices(objective),
    parameterBytes,
    shardsOptimizer: ranksOfOptimizer(objective) !== undefined
  }
}

/**
 * The pieces of a parameter's gradient, of which each rank that adds it, or that updates its own,
 * takes an equal slice.
 */
export const splitPieces = (
  parameter: ParameterTensor,
  { ranks: all, addedBy, slices, parameterBytes, shardsOptimizer }: Reduction
): readonly Piece[] => {
  const { bytes } = parameter.gradient!
  const ranks = shardsOptimizer ? all : addedBy(parameter).ranks
  const unit = slices * parameterBytes
  const whole = Math.max(unit, Math.floor(mostPieceBytes / unit) * unit)
  return Array.from({ length: Math.ceil(bytes / whole) }, (_, index) => ({
    offset: index * whole,
    sumOffset: (index * whole) / (shardsOptimizer ? all : 1),
    sliceBytes: Math.min(whole, bytes - index * whole) / ranks
  }))
}
