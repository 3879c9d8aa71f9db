import type { DeviceModel } from '../devices/device-model'
import type { StepGraph } from '../graph/step-graph'
import { untiled, type Span } from '../graph/span'
import { segmentTimer } from '../lowering/cost/segment-times'
import { createPool } from '../lowering/ir/builder'
import { createModelScope } from '../lowering/segment/create-scope'
import { onLoadNormalisations } from '../lowering/tile/normalise-on-load'
import { lazy, memoize } from '../memoize'
import type { Variant, Variants } from './strategy'

/** The position of a convolution that may normalise on load, and of the normalisation. */
type Pair = readonly [position: number, normalisation: number]

const pairsOf = (graph: StepGraph, device: DeviceModel): readonly Pair[] => {
  const scope = createModelScope(graph, device, createPool())
  return [...onLoadNormalisations(scope.parameters, scope)]
}

const positionsWithin = (pairs: readonly Pair[], { from, to }: Span): readonly number[] =>
  pairs.flatMap(([position, normalisation]) => (from <= normalisation && position < to ? [position] : []))

/** All convolutions of a span that may normalise on load, whatever time they take. */
export const allOnLoad = (graph: StepGraph, device: DeviceModel): ((span: Span) => Variant) => {
  const pairs = lazy(() => pairsOf(graph, device))
  return (span) => {
    const normaliseOnLoad = positionsWithin(pairs(), span)
    return normaliseOnLoad.length === 0 ? {} : { normaliseOnLoad }
  }
}

/**
 * The variants with those convolutions on load that take no more time by it, where forward runs
 * once and where it runs again; and behind the last of them one with all, which takes least memory.
 */
export const withNormalisationOnLoad = (
  graph: StepGraph,
  device: DeviceModel,
  timer: ReturnType<typeof segmentTimer>,
  variants: Variants
): Variants => {
  const pairs = pairsOf(graph, device)
  if (pairs.length === 0) return variants
  const normalisations = new Map(pairs)
  const gains = (recompute: boolean): readonly Pair[] =>
    pairs.filter(([position, normalisation]) => {
      const timeOf = (variant: Variant): number =>
        timer({ from: normalisation, to: position + 1, grid: untiled, recompute, reorder: 'once', ...variant }).nanoseconds()
      return timeOf({ normaliseOnLoad: [position] }) <= timeOf({})
    })
  const [once, again] = [lazy(() => gains(false)), lazy(() => gains(true))]
  return memoize(
    ({ from, to }) => `${from},${to}`,
    (span) => {
      const [all, gaining, onLoadAgain] = [pairs, once(), again()].map((some) => positionsWithin(some, span))
      const given = variants(span)
      if (all!.length === 0) return given
      const onLoad = given.map((variant): Variant => ({ ...variant, normaliseOnLoad: gaining!, onLoadAgain: onLoadAgain!, normalisations }))
      return gaining!.length === all!.length ? onLoad : [...onLoad, { ...onLoad.at(-1)!, normaliseOnLoad: all! }]
    }
  )
}
