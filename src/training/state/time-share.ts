/** When something was done last, by performance.now(), and the milliseconds that it took. */
export interface LastDone {
  readonly at: number
  readonly milliseconds: number
}

/** What has not been done. */
export const neverDone: LastDone = { at: -Infinity, milliseconds: 0 }

/** What is done now, and began then. */
export const doneSince = (started: number): LastDone => {
  const at = performance.now()
  return { at, milliseconds: at - started }
}

/** Whether doing it again now takes at most 5 % of the time. */
export const isWorthwhile = ({ at, milliseconds }: LastDone): boolean => performance.now() - at >= 20 * milliseconds
