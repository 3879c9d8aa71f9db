import type { BufferLifetime } from '../../placement/lifetimes'
import { alignment, type Lifetime, type Placement } from '../../placement/placement'
import { placeStatic } from '../../placement/static'
import type { PlanPlacement } from '../../plans/plan'
import type { Pool, UnplacedInstruction } from '../ir/builder'
import { placeInPages, type PlacedInPages } from './pages'

/**
 * Steps that the search for a placement may take: a descent without a wrong turn takes one step a
 * buffer, and what a plan leaves seldom needs more. Of many buffers a step takes longer.
 */
const computeStepLimit = (buffers: number): number => Math.max(2 * buffers, 4800)

/** Where a Program's buffers lie by `static`; `goal` as `PlacementOptions` has it. */
export const placeProgram = (lifetimes: readonly Lifetime[], goal = 0): Placement =>
  placeStatic(lifetimes, { alignment, goal, stepLimit: computeStepLimit(lifetimes.length) })

/** Whether a Program's buffers lie in so many bytes, for which often not all need be tried. */
export const fitsProgram = (lifetimes: readonly Lifetime[], bytes: number): boolean => placeProgram(lifetimes, bytes).peakBytes <= bytes

/** Where the buffers of a Program's sections lie, and what must be mapped for them, when. */
export const placeBuffers = (
  placement: PlanPlacement | undefined,
  sections: readonly (readonly UnplacedInstruction[])[],
  lifetimes: readonly BufferLifetime[],
  pool: Pick<Pool, 'freshEvent'>
): Omit<PlacedInPages, 'pages'> & Partial<Pick<PlacedInPages, 'pages'>> => {
  if (placement !== undefined) return placeInPages(sections, lifetimes, placement.pageBytes, placeProgram, pool)
  const { offsets, peakBytes } = placeProgram(lifetimes)
  return { offsets, peakBytes, before: [] }
}
