import type { Chain } from './chain'
import { minimizeIdle } from './least-idle'
import { scheduleInOrder, type OffloadSet, type Schedule } from './schedule'
import { discretise, type DiscretisedChain } from './slots'

/**
 * Gives one slot more to the activation, of those that were rounded down, that is closest to its
 * true size.
 */
const roundUpOne = (slots: DiscretisedChain, chain: Chain, memory: number): DiscretisedChain | undefined => {
  const lost = chain.stages.map(({ x }, i) => (x * slots.count) / memory - slots.x[i]!)
  const closest = lost.reduce((least, bytes, i) => (bytes > 0 && (least === -1 || bytes < lost[least]!) ? i : least), -1)
  return closest === -1 ? undefined : { ...slots, x: slots.x.map((x, i) => (i === closest ? x + 1 : x)) }
}

/**
 * DYNPROG of section 5.3: the best set of the relaxation in `count` slots; of several, which the
 * paper leaves open, the one whose ordered schedule of whole activations is the shortest, and moves
 * least. Sizes are rounded optimistically first; while no set that comes of it fits in bytes,
 * another activation is rounded up.
 */
export const dynprogOffload = (chain: Chain, memory: number, count: number): OffloadSet => {
  let slots: DiscretisedChain | undefined = discretise(chain, memory, count)
  while (slots !== undefined) {
    const best = minimizeIdle(slots).sets.reduce<Schedule | undefined>((best, set) => {
      const one = scheduleInOrder(chain, memory, set)
      return one !== undefined && one.makespan <= (best?.makespan ?? Infinity) ? one : best
    }, undefined)
    if (best !== undefined) return best.offload
    slots = roundUpOne(slots, chain, memory)
  }
  return chain.stages.map(() => true)
}
