import type { BufferLifetime } from '../../placement/lifetimes'
import { placeInDescents } from '../../placement/descents'
import { alignment, type Lifetime, type Placement } from '../../placement/placement'
import type { PlanPlacement } from '../../plans/plan'
import type { Pool, UnplacedInstruction } from '../ir/builder'
import { placeInPages, type PlacedInPages } from './pages'

/** Where a Program's buffers lie. */
export const placeProgram = (lifetimes: readonly Lifetime[]): Placement => placeInDescents(lifetimes, alignment)

/** Whether a Program's buffers lie in so many bytes, for which often not all need be tried. */
export const fitsProgram = (lifetimes: readonly Lifetime[], bytes: number): boolean =>
  placeInDescents(lifetimes, alignment, bytes).peakBytes <= bytes

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
