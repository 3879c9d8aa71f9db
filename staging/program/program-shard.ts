import type { TensorShare } from './program-buffer'

/** One of the processes that share the images of a batch, and their rows. */
export interface ProgramShard {
  /** Processes in all. */
  readonly count: number
  /** Which of them, from 0. */
  readonly index: number
  /** Groups of as many processes, each of which runs micro-batches of its own by these Programs. */
  readonly groups: number
  /** What it compares of the target; absent where it compares all, as every rank does. */
  readonly target?: TensorShare
  /**
   * What it takes of the target into sums of overlaps, where those are of a segment before the
   * loss's, which ranks share in another way.
   */
  readonly summedTarget?: TensorShare
  /** Parameters whose gradients every rank computes whole: one rank's of each group are added. */
  readonly replicated: readonly string[]
  /** Buffers of statistics of which each rank gathers those of its rows before they are merged. */
  readonly merged: readonly string[]
}
