import type { Kernel, PlanRequest, Searched } from '../../staging'

/** Who watches what is planned, measured or run, and may stop it. */
export interface Watching {
  /** While kernels are measured: `done` of this round's, of `total`. */
  readonly onKernel?: (done: number, total: number, kernel: Kernel) => void
  /** Before a sample of kernels is measured, which takes so many seconds at most. */
  readonly onSample?: (mostSeconds: number) => void
  /** Each second while a plan is searched: how many plans and segments were looked at so far. */
  readonly onSearch?: (searched: Searched) => void
  /** With one sentence that the user should see. */
  readonly onNotice?: (sentence: string) => void
  /** Aborting it stops after the current kernel, or instruction. */
  readonly signal?: AbortSignal
}

/** The part of some options that watches. */
export const pickWatching = ({ onKernel, onSample, onSearch, onNotice, signal }: Watching): Watching => ({
  ...(onKernel && { onKernel }),
  ...(onSample && { onSample }),
  ...(onSearch && { onSearch }),
  ...(onNotice && { onNotice }),
  ...(signal && { signal })
})

const secondMilliseconds = 1000

/** Tells once in so many milliseconds, the first time after as many. */
export const throttle = <A>(milliseconds: number, tell: (value: A) => void): ((value: A) => void) => {
  let toldAt = performance.now()
  return (value) => {
    if (performance.now() - toldAt < milliseconds) return
    toldAt = performance.now()
    tell(value)
  }
}

/** What a search tells at every turn, told once a second. */
export const throttleSearch = ({ onSearch }: Watching): Pick<PlanRequest, 'onSearch'> =>
  onSearch === undefined ? {} : { onSearch: throttle(secondMilliseconds, onSearch) }
