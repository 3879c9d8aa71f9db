/** Ctrl-C, for the whole process: what runs and can end by itself is asked to; anything else ends at once. */
export interface Interruption {
  /** Says what to do on a Ctrl-C while nothing runs that could end by itself. */
  readonly whenIdle: (end: () => void) => void
  /** Hands `use` a signal that the first Ctrl-C aborts; a second one ends the process. */
  readonly during: <A>(use: (signal: AbortSignal) => Promise<A>) => Promise<A>
}

const listen = (): Interruption => {
  let running: AbortController | undefined
  let endIdle = (): void => process.exit(130)
  process.on('SIGINT', () => {
    if (running === undefined) endIdle()
    else if (running.signal.aborted) process.exit(130)
    else running.abort()
  })
  return {
    whenIdle: (end) => void (endIdle = end),
    during: (use) => {
      const controller = new AbortController()
      running = controller
      return use(controller.signal).finally(() => (running = undefined))
    }
  }
}

let listening: Interruption | undefined

/** Listens from the first call on. */
export const interruption = (): Interruption => (listening ??= listen())
