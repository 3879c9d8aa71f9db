import type { Chain } from './chain'
import { backwardBytes, forwardBytes } from './memory'

/** A chain in slots of the device's memory; times as what the link moves meanwhile. By stage. */
export interface DiscretisedChain {
  /** Number of slots that the memory has. */
  readonly count: number
  /** |x_i|. */
  readonly x: Int32Array
  /** Slots that activations before x_i may take while F_i, or B_i, runs. */
  readonly roomF: Int32Array
  readonly roomB: Int32Array
  /** u_F beta and u_B beta. */
  readonly moveF: Int32Array
  readonly moveB: Int32Array
}

/**
 * Differences of rounded partial sums, which together are off by one at most, however many they
 * are.
 */
const roundSums = (values: readonly number[], round: (sum: number) => number): readonly number[] => {
  let [sum, rounded] = [0, 0]
  return values.map((value) => {
    const before = rounded
    sum += value
    rounded = round(sum)
    return rounded - before
  })
}

/**
 * The discretisation of section 5.3.2, in `count` slots of memory / count bytes: partial sums of
 * |x_i| are rounded up, those of what the link moves during operations down. What an operation
 * needs beside (ex, |y_i|, |y_(i+1)|, its own x_i and x_(i+1)) matters in sum only, and is rounded
 * up once, where the paper rounds each part.
 */
export const discretise = (chain: Chain, memory: number, count: number): DiscretisedChain => {
  const slots = (bytes: number): number => (bytes * count) / memory
  const room = (own: readonly number[]): Int32Array => Int32Array.from(own, (bytes) => Math.floor(slots(memory - bytes)))
  // No backlog of transfers is longer than the memory, so that more than some times as much makes
  // no difference.
  const moved = (milliseconds: readonly number[]): Int32Array =>
    Int32Array.from(
      roundSums(milliseconds, (sum) => Math.floor(slots((sum * chain.beta) / 1000))),
      (move) => Math.min(move, 4 * count)
    )
  const x = chain.stages.map((stage) => stage.x)
  return {
    count,
    x: Int32Array.from(roundSums(x, (sum) => Math.ceil(slots(sum)))),
    roomF: room(forwardBytes(chain).own),
    roomB: room(backwardBytes(chain).own),
    moveF: moved(chain.stages.map(({ u_F }) => u_F)),
    moveB: moved(chain.stages.map(({ u_B }) => u_B))
  }
}
