import type { KernelKind } from './kernels/kernels'
import type { Lowered } from './lowering'
import type { LeastPlan } from './budget-errors'
import { alignment } from './placement/placement'

/** The plans of a strategy for budgets in bytes. */
export interface PlanSearch {
  /**
   * The fastest that fits, beyond `slowest` milliseconds perhaps none. Never slower for a larger
   * budget.
   */
  readonly within: (budget: number, slowest?: number) => Lowered | undefined
  /**
   * The smallest budget below a number of bytes for which an answer was found, and that answer. A
   * strategy that estimates where its answers begin may answer somewhat smaller ones too.
   */
  readonly least: (below?: number) => LeastPlan | undefined
  /** Where there is no answer to any budget: a kernel that the device refuses, if that is why. */
  readonly refusedKernel: () => KernelKind | undefined
  /**
   * The fewest bytes on the host with which anything fits the budget; undefined where nothing does.
   */
  readonly leastHost: (budget: number) => number | undefined
}

/** The fastest of some plans, the first of equals; undefined of none. */
export const findFastest = (candidates: readonly Lowered[]): Lowered | undefined =>
  candidates.reduce<Lowered | undefined>(
    (fastest, one) => (fastest === undefined || one.milliseconds() < fastest.milliseconds() ? one : fastest),
    undefined
  )

/**
 * Whether what is live at once may be placed in a budget: a placement ends before the padding of
 * its last buffer.
 */
export const mayLieIn = (budget: number, liveBytes: number): boolean => liveBytes < budget + alignment

/** Whether a plan runs within a budget of the device's bytes; is placed only where it may be. */
export const runsWithin = (budget: number, { refusedKernel, liveBytes, fits }: Lowered): boolean =>
  refusedKernel() === undefined && mayLieIn(budget, liveBytes()) && fits(budget)
