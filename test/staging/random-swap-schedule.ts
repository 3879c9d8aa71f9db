import type { SwapInterval } from '../../staging'
import type { Timeline } from '../../staging/lowering/cost/timeline'
import type { Draw } from './random-nets'

/**
 * About two thirds of what may wait on the host, each out, freed and in again at any moments that
 * are possible, and once more between its uses in backward.
 */
export const randomSwapSchedule = (draw: Draw, { stages, tensors }: Timeline): readonly SwapInterval[] =>
  tensors.flatMap(({ name, written, forward, backward, reads }): readonly SwapInterval[] => {
    if (forward + 1 > backward || draw(0, 2) === 0) return []
    const swapOut = draw(written + 1, backward)
    const freed = draw(Math.max(swapOut, forward + 1), backward)
    const interval = (out: number, free: number, back: number): SwapInterval => {
      const [swapOut, freed, swapIn] = [out, free, back].map((stage) => stages[stage]!.timepoint)
      return { tensor: name, swapOut: swapOut!, freed: freed!, swapIn: swapIn! }
    }
    const later = reads.slice(1).flatMap(({ stage }, index): readonly SwapInterval[] => {
      const last = reads[index]!.stage
      if (last + 1 > stage || draw(0, 1) === 0) return []
      const free = draw(last + 1, stage)
      return [interval(free, free, draw(free, stage))]
    })
    return [interval(swapOut, freed, draw(freed, backward)), ...later]
  })
