import type { Contender, Step } from './contender'
import { median } from './median'

/** A step counts while everything else on the machine used less than this share of one processor. */
const mostDisturbance = 0.1

/** How often a disturbed step is taken again, before it counts all the same. */
const mostRepeats = 4

/** The steps of a contender that count. */
export interface Taken {
  readonly steps: readonly Step[]
  readonly medianMs: number
  /** Steps that were not counted because something else used the machine. */
  readonly discarded: number
}

const undisturbed = async (contender: Contender): Promise<{ readonly step: Step; readonly discarded: number }> => {
  for (let discarded = 0; ; discarded += 1) {
    const step = await contender.step()
    if (step.disturbance < mostDisturbance || discarded === mostRepeats) return { step, discarded }
  }
}

/** A step of each in turn, round by round, so that a slow minute of the machine hits all alike; then all are closed. */
export const interleaved = async (contenders: readonly Contender[], rounds: number): Promise<readonly Taken[]> => {
  const taken = contenders.map((): { readonly step: Step; readonly discarded: number }[] => [])
  try {
    for (let round = 0; round < rounds; round += 1)
      for (const [index, contender] of contenders.entries()) taken[index]!.push(await undisturbed(contender))
  } finally {
    contenders.forEach(({ close }) => close())
  }
  return taken.map((all) => ({
    steps: all.map(({ step }) => step),
    medianMs: median(all.map(({ step }) => step.ms)),
    discarded: all.reduce((sum, { discarded }) => sum + discarded, 0)
  }))
}

/** Says how many steps were taken again; nothing where none were. */
export const discardedText = (taken: readonly { readonly discarded: number }[]): readonly string[] => {
  const discarded = taken.reduce((sum, one) => sum + one.discarded, 0)
  return discarded > 0 ? [`${discarded} steps were taken again, for something else used the machine.`] : []
}
