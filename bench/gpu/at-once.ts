import { availableParallelism } from 'node:os'

/** Runs a task when its turn comes. */
export type Lanes = <A>(task: () => Promise<A>) => Promise<A>

/** Runs tasks as they come, at most so many at once; the others wait in turn. */
export const lanes = (most: number): Lanes => {
  const waiting: (() => void)[] = []
  let running = 0
  return async (task) => {
    if (running === most) await new Promise<void>((resolve) => waiting.push(resolve))
    else running += 1
    try {
      return await task()
    } finally {
      const next = waiting.shift()
      if (next === undefined) running -= 1
      else next()
    }
  }
}

/**
 * Programs that this machine runs at once where none of them is timed: each has a processor for
 * itself and one for its libraries.
 */
export const untimedAtOnce = Math.max(1, Math.min(8, availableParallelism() >> 1))
