import type { Chain } from './chain'
import { leastIdle } from './least-idle'
import { backwardBytes, forwardBytes } from './memory'
import type { OffloadSet } from './schedule'
import { discretise, type SlotChain } from './slots'

/** Whether what is kept before each stage leaves room for its two operations. */
const fits = (chain: Chain, memory: number, offload: OffloadSet): boolean => {
  const [forward, backward] = [forwardBytes(chain).own, backwardBytes(chain).own]
  let kept = 0
  return chain.stages.every(({ x }, i) => {
    const fitsHere = kept + Math.max(forward[i]!, backward[i]!) <= memory
    kept += offload[i] ? 0 : x
    return fitsHere
  })
}

/** Of the activations that were rounded down, the one closest to its true size: one slot more. */
const roundedUp = (slots: SlotChain, chain: Chain, memory: number): SlotChain | undefined => {
  const lost = chain.stages.map(({ x }, i) => (x * slots.count) / memory - slots.x[i]!)
  const closest = lost.reduce((least, bytes, i) => (bytes > 0 && (least === -1 || bytes < lost[least]!) ? i : least), -1)
  return closest === -1 ? undefined : { ...slots, x: slots.x.map((x, i) => (i === closest ? x + 1 : x)) }
}

/**
 * DYNPROG of section 5.3: the best set of the relaxation in `count` slots. Sizes are rounded optimistically first; while the set that
 * comes of it does not fit in bytes, another activation is rounded up.
 */
export const dynprog = (chain: Chain, memory: number, count: number): OffloadSet => {
  let slots: SlotChain | undefined = discretise(chain, memory, count)
  while (slots !== undefined) {
    const { offload } = leastIdle(slots)
    if (fits(chain, memory, offload)) return offload
    slots = roundedUp(slots, chain, memory)
  }
  return chain.stages.map(() => true)
}
