import type { DeviceModel } from '../devices/device-model'
import type { StepGraph } from '../graph/step-graph'
import type { Span } from '../graph/span'
import { segmentTimer } from '../lowering/cost/segment-times'
import type { Segment } from '../plans/plan'
import { decidedBy } from './decided-by'
import { withNormalisationOnLoad } from './normalise-on-load'
import type { Segmentation, Variant, Variants } from './strategy'
import { winogradVariants } from './winograd'
import { workspaceVariants } from './workspace'

/**
 * A device has either a choice among algorithms that read weights as they are, or Winograd, or
 * nothing.
 */
export const createVariants = (graph: StepGraph, device: DeviceModel): Variants => {
  if (device.algorithms !== undefined) return workspaceVariants(graph, device)
  const timer = segmentTimer(graph, device)
  return withNormalisationOnLoad(graph, device, timer, winogradVariants(graph, device, timer))
}

/**
 * The last variant of a span, for which nothing need be timed: by no Winograd, and all on load that
 * can be. None takes less but what Winograd reads as it is stored, perhaps, where that is copied
 * else.
 */
export const findLastVariant = (device: DeviceModel, variants: () => Variants, onLoad: (span: Span) => Variant, span: Span): Variant =>
  device.algorithms === undefined ? onLoad(span) : variants()(span).at(-1)!

/** A segmentation with the variants of the whole graph. */
export const withVariants = (variants: Variants, segments: Segmentation): readonly Segmentation[] =>
  variants({ from: 0, to: segments[segments.length - 1]!.to }).map((variant) =>
    segments.map((segment): Segment => {
      const { winograd = [], slicedWinograd = [], normaliseOnLoad = [], workspace } = decidedBy(variant, segment)
      const [inside, sliced, loading] = [winograd, slicedWinograd, normaliseOnLoad].map((positions) =>
        positions.filter((position) => segment.from <= position && position < segment.to)
      )
      const onLoad = loading!.filter((position) => segment.from <= variant.normalisations!.get(position)!)
      return {
        ...segment,
        ...(inside!.length > 0 && { winograd: inside! }),
        ...(sliced!.length > 0 && { slicedWinograd: sliced! }),
        ...(onLoad.length > 0 && { normaliseOnLoad: onLoad }),
        ...(workspace !== undefined && { workspace })
      }
    })
  )
