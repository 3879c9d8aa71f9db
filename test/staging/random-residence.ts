import type { HostStay } from '../../staging'
import type { Timeline } from '../../staging/lowering/timeline'
import type { Draw } from './random-nets'

/** About two thirds of what may wait on the host, each out, freed and in again at any moments that are possible. */
export const randomResidence = (draw: Draw, { stages, tensors }: Timeline): readonly HostStay[] =>
  tensors.flatMap(({ name, written, forward, backward }): readonly HostStay[] => {
    if (forward + 1 > backward || draw(0, 2) === 0) return []
    const swapOut = draw(written + 1, backward)
    const freed = draw(Math.max(swapOut, forward + 1), backward)
    const swapIn = draw(freed, backward)
    const moment = (stage: number): number => stages[stage]!.moment
    return [{ tensor: name, swapOut: moment(swapOut), freed: moment(freed), swapIn: moment(swapIn) }]
  })
