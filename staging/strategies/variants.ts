import type { DeviceModel } from '../devices/device-model'
import type { StepGraph } from '../graph/step-graph'
import type { Span } from '../graph/span'
import type { Segment } from '../plans/plan'
import { withNormalisationOnLoad } from './normalise-on-load'
import type { Segmentation, Variant, Variants } from './strategy'
import { winogradVariants } from './winograd'
import { workspaceVariants } from './workspace'

/**
 * A device has either a choice among algorithms that read weights as they are, or Winograd with
 * transformed weights, or nothing.
 */
export const createVariants = (graph: StepGraph, device: DeviceModel): Variants =>
  device.algorithms === undefined ? withNormalisationOnLoad(graph, device, winogradVariants(graph, device)) : workspaceVariants(graph, device)

/**
 * The last variant of a span, which takes least: of Winograd that is none, for which nothing need
 * be timed.
 */
export const findLastVariant = (device: DeviceModel, variants: () => Variants, span: Span): Variant =>
  device.algorithms === undefined ? {} : variants()(span).at(-1)!

/** A segmentation with the variants of the whole graph. */
export const withVariants = (variants: Variants, segments: Segmentation): readonly Segmentation[] =>
  variants({ from: 0, to: segments[segments.length - 1]!.to }).map(({ winograd = [], slicedWinograd = [], normaliseOnLoad = [], workspace }) =>
    segments.map((segment): Segment => {
      const [inside, sliced, onLoad] = [winograd, slicedWinograd, normaliseOnLoad].map((positions) =>
        positions.filter((position) => segment.from <= position && position < segment.to)
      )
      return {
        ...segment,
        ...(inside!.length > 0 && { winograd: inside! }),
        ...(sliced!.length > 0 && { slicedWinograd: sliced! }),
        ...(onLoad!.length > 0 && { normaliseOnLoad: onLoad! }),
        ...(workspace !== undefined && { workspace })
      }
    })
  )
