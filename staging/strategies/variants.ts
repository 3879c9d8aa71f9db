import type { Lowering } from '../lowering/open-context'
import type { Segment } from '../plan'
import type { Span } from '../tiling'
import type { Segmentation } from './strategy'
import { winogradVariants } from './winograd'
import { workspaceVariants } from './workspace'

/** How the convolutions of a segment are computed. */
export type Variant = Pick<Segment, 'winograd' | 'workspace'>

/** The ways for the convolutions of a span, the first the fastest: without tiles, none takes less time than the one before it. */
export type Variants = (span: Span) => readonly Variant[]

/** A device has either a choice among algorithms that read weights as they are, or Winograd with transformed weights, or nothing. */
export const variantsOf = (lowering: Lowering): Variants =>
  lowering.device.algorithms === undefined ? winogradVariants(lowering) : workspaceVariants(lowering)

/** A segmentation with the variants of the whole graph. */
export const withVariants = (variants: Variants, segments: Segmentation): readonly Segmentation[] =>
  variants({ from: 0, to: segments[segments.length - 1]!.to }).map(({ winograd = [], workspace }) =>
    segments.map((segment): Segment => {
      const inside = winograd.filter((position) => segment.from <= position && position < segment.to)
      return { ...segment, ...(inside.length > 0 && { winograd: inside }), ...(workspace !== undefined && { workspace }) }
    })
  )
