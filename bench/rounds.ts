import { errorReason } from '../src/failure'
import type { Contender, Step } from './contender'
import { median } from './median'

/**
 * A step counts while everything else on the machine used less than this share of one processor.
 */
const mostDisturbance = 0.1

/** How often a disturbed step is taken again, before the round goes on without it. */
const mostRepeats = 4

/** The steps of a contender that count: at least one. */
export interface Taken {
  readonly steps: readonly Step[]
  readonly medianMs: number
  /** Steps that were not counted because something else used the machine. */
  readonly discarded: number
}

/** The last of a round's attempts is the one that counts, if any does. */
const attempts = async (contender: Contender, most: number): Promise<readonly Step[]> => {
  const steps: Step[] = []
  while (steps.length <= mostRepeats) {
    const step = await contender.step().catch((error) => Promise.reject(new Error(`${contender.name}: ${errorReason(error)}`)))
    steps.push(step)
    if (step.disturbance < most) break
  }
  return steps
}

/**
 * A step of each in turn, round by round, so that a slow minute of the machine hits all alike; then
 * all are closed. Rejects where a contender never had the machine to itself. `most`: what else may
 * use of a processor during a step that counts; Infinity counts all, which makes no figures.
 */
export const runInterleaved = async (
  contenders: readonly Contender[],
  rounds: number,
  most: number = mostDisturbance
): Promise<readonly Taken[]> => {
  const taken = contenders.map((): Step[] => [])
  try {
    for (let round = 0; round < rounds; round += 1)
      for (const [index, contender] of contenders.entries()) taken[index]!.push(...(await attempts(contender, most)))
  } finally {
    contenders.forEach(({ close }) => close())
  }
  return taken.map((all, index) => {
    const steps = all.filter(({ disturbance }) => disturbance < most)
    if (steps.length === 0)
      throw new Error(`${contenders[index]!.name}: something else used the machine during all ${all.length} steps; measure when it is idle`)
    return { steps, medianMs: median(steps.map(({ ms }) => ms)), discarded: all.length - steps.length }
  })
}

/** Says how many steps did not count; nothing where all did. */
export const discardedText = (taken: readonly { readonly discarded: number }[]): readonly string[] => {
  const discarded = taken.reduce((sum, one) => sum + one.discarded, 0)
  return discarded > 0 ? [`${discarded} steps do not count, for something else used the machine.`] : []
}
