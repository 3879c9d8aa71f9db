import type { Chain } from './chain'
import { peakBytes } from './memory'
import type { OffloadSet } from './schedule'

/**
 * GREEDY of section 4.2: the first activations, whole, until they are M_peak - `memory` bytes. Fits
 * wherever anything does.
 */
export const greedyOffload = (chain: Chain, memory: number): OffloadSet => {
  let missing = peakBytes(chain) - memory
  return chain.stages.map(({ x }) => {
    const offloads = missing > 0
    missing -= x
    return offloads
  })
}
