import * as E from 'fp-ts/Either'
import type { StagingError } from '../error'
import type { Chain } from './chain'
import { dynprogOffload } from './dynprog'
import { greedyOffload } from './greedy'
import { leastBytes, lowerBound, peakBytes } from './memory'
import { defaultSlots, type OffloadStrategy } from './offload-strategies'
import { scheduleInOrder, type OffloadSet, type Schedule } from './schedule'
import { vdnnOffload } from './vdnn'

export { decodeChain, type Chain } from './chain'
export { computeMilliseconds, leastBytes, lowerBound, peakBytes } from './memory'
export { offloadStrategies, type OffloadStrategy } from './offload-strategies'
export { scheduleInOrder, type OffloadSet, type Release, type Schedule } from './schedule'

/** A chain, the bytes that it may take, and how to offload it. */
export interface OffloadRequest {
  readonly chain: Chain
  /** Bytes on the device for activations, their gradients and workspaces: M_GPU of the paper. */
  readonly memory: number
  readonly strategy: OffloadStrategy
  /** Number of slots into which dynprog divides the memory; 500 where absent. */
  readonly slots?: number
}

/** A schedule of a chain with offloading, and what it takes. */
export interface Offloaded {
  readonly schedule: Schedule
  /** M_peak, in bytes. */
  readonly peakBytes: number
  /** Proposition 3, in milliseconds. */
  readonly lowerBound: number
  /** Bytes that are offloaded to the host, and come back. */
  readonly offloadedBytes: number
}

const chooseSet = ({ chain, memory, strategy, slots = defaultSlots }: OffloadRequest): OffloadSet => {
  if (memory >= peakBytes(chain)) return chain.stages.map(() => false)
  switch (strategy) {
    case 'greedy':
      return greedyOffload(chain, memory)
    case 'dynprog':
      return dynprogOffload(chain, memory, slots)
    case 'vdnn':
      return vdnnOffload(chain, memory)
  }
}

/**
 * Which activations of a chain go to the host in which ordered no-wait schedule, by one of the
 * strategies of Beaumont et al. (Euro-Par 2020). Fails with code 'budget' where an operation alone
 * needs more than `memory`.
 */
export const chooseOffload = (request: OffloadRequest): E.Either<StagingError, Offloaded> => {
  const { chain, memory } = request
  const least = leastBytes(chain)
  if (memory < least) {
    const message = `${chain.name} does not fit into ${memory} bytes: its largest operation alone needs ${least}; give --memory at least that.`
    return E.left({ code: 'budget', message, smallestFeasibleBudgetBytes: least })
  }
  const schedule = scheduleInOrder(chain, memory, chooseSet(request))
  if (schedule === undefined) throw new Error(`the set of ${request.strategy} has no schedule in ${memory} bytes`)
  return E.right({
    schedule,
    peakBytes: peakBytes(chain),
    lowerBound: lowerBound(chain, memory),
    offloadedBytes: chain.stages.reduce((sum, { x }, i) => sum + (schedule.offload[i] ? x : 0), 0)
  })
}
