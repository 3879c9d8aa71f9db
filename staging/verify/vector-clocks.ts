import { engines } from '../program/program'

/**
 * Vector clocks (Fidge, Mattern): how many instructions each engine has begun, as each of them
 * knows it. Engines are positions in `engines`.
 */
export interface VectorClocks {
  /** Begins an engine's next instruction and returns its time. */
  readonly tick: (engine: number) => number
  readonly record: (engine: number, event: number) => void
  /** An engine learns what was known where an event was recorded; false where it never was. */
  readonly wait: (engine: number, event: number) => boolean
  /** The time up to which an engine has waited for another. */
  readonly seen: (engine: number, other: number) => number
  /** The time up to which all others have waited for an engine. */
  readonly seenByAll: (engine: number) => number
}

/** Clocks of engines that have begun nothing. */
export const createVectorClocks = (): VectorClocks => {
  const clocks: number[][] = engines.map(() => engines.map(() => 0))
  const recorded = new Map<number, readonly number[]>()
  return {
    tick: (engine) => ++clocks[engine]![engine]!,
    record: (engine, event) => void recorded.set(event, [...clocks[engine]!]),
    wait: (engine, event) => {
      const clock = clocks[engine]!
      const reached = recorded.get(event)
      reached?.forEach((time, other) => (clock[other] = Math.max(clock[other]!, time)))
      return reached !== undefined
    },
    seen: (engine, other) => clocks[engine]![other]!,
    seenByAll: (engine) => Math.min(...clocks.flatMap((clock, other) => (other === engine ? [] : [clock[engine]!])))
  }
}
