import type { Instruction, Program, ProfiledModel, Section, TimeSource } from '../../staging'

type Launch = Extract<Instruction, { readonly kind: 'launch' }>

/**
 * Counts how often a section launches each kernel; of those launches alone for which `which` is
 * true, where it is given.
 */
export const launchCounts = ({ code: all }: Section, which: (launch: Launch) => boolean = () => true): ReadonlyMap<number, number> => {
  const counts = new Map<number, number>()
  const walk = (code: readonly Instruction[], times: number): void => {
    for (const one of code)
      if (one.kind === 'loop') walk(one.body, times * one.count)
      else if (one.kind === 'launch' && which(one)) counts.set(one.kernel, (counts.get(one.kernel) ?? 0) + times)
  }
  walk(all, 1)
  return counts
}

/** Returns the bytes that a section moves between device and host. */
export const movedBytes = ({ code }: Pick<Section, 'code'>): number =>
  code.reduce((sum, one) => {
    if (one.kind === 'loop') return sum + one.count * movedBytes({ code: one.body })
    return one.kind === 'copy' ? sum + one.rows * one.rowBytes : sum
  }, 0)

/** The share of a step's predicted time that each source of times stands for. */
export type TimeShares = { readonly [S in TimeSource]: number }

/** From which sources the predicted time of a program's step comes, as shares that add up to 1. */
export const timeShares = (program: Program, device: ProfiledModel): TimeShares => {
  const sums = { measured: 0, interpolated: 0, extrapolated: 0, roofline: 0 }
  for (const [index, count] of launchCounts(program.step)) {
    const kernel = program.kernels[index]!
    sums[device.sourceOf(kernel)] += count * device.milliseconds(kernel)
  }
  const total = Object.values(sums).reduce((sum, value) => sum + value, 0) || 1
  return {
    measured: sums.measured / total,
    interpolated: sums.interpolated / total,
    extrapolated: sums.extrapolated / total,
    roofline: sums.roofline / total
  }
}
