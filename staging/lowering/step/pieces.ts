import { gradientSlices, ranksOfImage, ranksOfOptimizer, reducingRanks } from '../../graph/objective'
import type { Buffer } from '../ir/builder'
import type { ModelScope } from '../scope/scope'

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

/** What of an objective decides how gradients are cut. */
export interface Reduction {
  readonly ranks: number
  /** Ranks that share the rows of an image, one after the other: they have the same moments. */
  readonly ranksOfImage: number
  /** Equal slices into which every gradient can be cut: a multiple of the ranks. */
  readonly slices: number
  /** Bytes of a gradient's element. */
  readonly parameterBytes: number
  /** Whether each rank updates its slices alone, which it keeps one after the other. */
  readonly shardsOptimizer: boolean
}

/** How ranks add gradients; undefined where no ranks do. */
export const createReduction = ({ graph: { objective }, parameterBytes }: ModelScope): Reduction | undefined => {
  const ranks = reducingRanks(objective)
  if (ranks === undefined) return undefined
  const shardsOptimizer = ranksOfOptimizer(objective) !== undefined
  return { ranks, ranksOfImage: ranksOfImage(objective), slices: gradientSlices(objective), parameterBytes, shardsOptimizer }
}

/**
 * The pieces of a gradient, of which any number of ranks that shares the micro-batches takes equal
 * slices.
 */
export const splitPieces = ({ bytes }: Buffer, { ranks, slices, parameterBytes, shardsOptimizer }: Reduction): readonly Piece[] => {
  const unit = slices * parameterBytes
  const whole = Math.max(unit, Math.floor(mostPieceBytes / unit) * unit)
  return Array.from({ length: Math.ceil(bytes / whole) }, (_, index) => ({
    offset: index * whole,
    sumOffset: (index * whole) / (shardsOptimizer ? ranks : 1),
    sliceBytes: Math.min(whole, bytes - index * whole) / ranks
  }))
}
