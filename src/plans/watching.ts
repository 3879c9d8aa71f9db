import type { Kernel } from '../../staging'

/** Who watches what is planned, measured or run, and may stop it. */
export interface Watching {
  /** While kernels are measured: `done` of this round's, of `total`. */
  readonly onKernel?: (done: number, total: number, kernel: Kernel) => void
  /** Aborting it stops after the current kernel, or instruction. */
  readonly signal?: AbortSignal
}

/** The part of some options that watches. */
export const pickWatching = ({ onKernel, signal }: Watching): Watching => ({ ...(onKernel && { onKernel }), ...(signal && { signal }) })
