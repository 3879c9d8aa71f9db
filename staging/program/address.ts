/** Where operands lie: the position of a name is its code in a Program. */
export const spaces = ['none', 'arena', 'stepIo', 'index'] as const
/**
 * `stepIo` is the caller's buffer of one run: targets in; loss, metrics, gradients, weights out.
 */
export type Space = (typeof spaces)[number]

/** The byte at base + strides . tile index. */
export interface Address {
  readonly space: Space
  readonly base: number
  readonly strides: readonly [number, number, number]
  /**
   * Index of the Program's buffer that is meant, in the arena and on the host. The verifier asks
   * for it, and how large it is goes with a kernel's scratch.
   */
  readonly buffer?: number
}

/**
 * A byte offset into the arena or the host pool, of one of whose buffers it is: base + strides .
 * tile index.
 */
export type Offset = Pick<Address, 'base' | 'strides' | 'buffer'>
