import type { Chain } from './chain'
import { scheduleInOrder, type OffloadSet } from './schedule'

/**
 * The VDNN of section 6.1, after Shriram et al. (IPDPS 2019): of all thresholds of u_F / |x|, what
 * is at or above one, or every other of these; the set with the shortest schedule in `memory`
 * bytes.
 */
export const vdnnOffload = (chain: Chain, memory: number): OffloadSet => {
  const ratios = chain.stages.map(({ u_F, x }) => (x === 0 ? Infinity : u_F / x))
  const sets = [...new Set(ratios)].flatMap((threshold): readonly OffloadSet[] => {
    const above = ratios.map((ratio) => ratio >= threshold)
    let count = 0
    return [above, above.map((offloads) => offloads && count++ % 2 === 0)]
  })
  const scheduled = [chain.stages.map(() => false), ...sets].flatMap((set) => scheduleInOrder(chain, memory, set) ?? [])
  return scheduled.reduce((best, one) => (one.makespan < best.makespan ? one : best)).offload
}
