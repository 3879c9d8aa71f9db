import type { DeviceModel } from '../devices/device-model'
import type { StepGraph } from '../graph/step-graph'
import { untiled } from '../graph/span'
import { segmentTimer } from '../lowering/cost/segment-times'
import { createPool } from '../lowering/ir/builder'
import { createModelScope } from '../lowering/segment/create-scope'
import { onLoadNormalisations } from '../lowering/tile/normalise-on-load'
import { memoize } from '../memoize'
import type { Variant, Variants } from './strategy'

/**
 * The convolutions that take no more time where they normalise what they read than where that is
 * stored, each with the position of the normalisation: kept, so in backward forward does not run
 * again, which could but gain more.
 */
const findGains = (graph: StepGraph, device: DeviceModel): readonly (readonly [number, number])[] => {
  const scope = createModelScope(graph, device, createPool())
  const timer = segmentTimer(graph, device)
  return [...onLoadNormalisations(scope.parameters, scope)].filter(([position, normalisation]) => {
    const timeOf = (variant: Variant): number =>
      timer({ from: normalisation, to: position + 1, grid: untiled, recompute: false, reorder: 'once', ...variant }).nanoseconds()
    return timeOf({ normaliseOnLoad: [position] }) <= timeOf({})
  })
}

/** Each of the variants with all convolutions on load that gain by it: they then take less memory. */
export const withNormalisationOnLoad = (graph: StepGraph, device: DeviceModel, variants: Variants): Variants => {
  const gains = findGains(graph, device)
  return memoize(
    ({ from, to }) => `${from},${to}`,
    (span) => {
      const inside = gains.filter(([position, normalisation]) => span.from <= normalisation && position < span.to)
      const normaliseOnLoad = inside.map(([position]) => position)
      return normaliseOnLoad.length === 0 ? variants(span) : variants(span).map((variant) => ({ ...variant, normaliseOnLoad }))
    }
  )
}
