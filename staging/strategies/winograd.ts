import type { DeviceModel } from '../devices/device-model'
import type { Graph } from '../graph/graph'
import type { StepGraph } from '../graph/step-graph'
import { weightElements } from '../kernels/layout'
import { segmentTimer } from '../lowering/cost/segment-times'
import { createModelScope } from '../lowering/segment/create-scope'
import { createPool } from '../lowering/ir/builder'
import { transformablePositions } from '../lowering/segment/winograd'
import { segmentTiling, type SegmentTiling } from '../graph/tiling'
import { untiled, type Span } from '../graph/span'
import { memoize } from '../memoize'
import type { Variant, Variants } from './strategy'

/**
 * A convolution that is faster by Winograd on the whole image, and the bytes of its transformed
 * weights.
 */
interface Gain {
  readonly position: number
  readonly bytes: number
}

/**
 * Between all and none: those whose transformed weights take less than these shares of the largest
 * ones.
 */
const shares = [1 / 4]

/**
 * Faster both where forward runs once and where it runs again for backward, the transformation of
 * weights included.
 */
const isFaster = (timer: ReturnType<typeof segmentTimer>, nodes: number, position: number): boolean =>
  [position + 1, Math.min(position + 2, nodes)].every((to) => {
    const segment = { from: position, to, grid: untiled, recompute: to < nodes, reorder: 'once' } as const
    return timer({ ...segment, winograd: [position] }).nanoseconds() < timer(segment).nanoseconds()
  })

/**
 * Whether every op inside a span computes all of its output, untiled: what strides and floors leave
 * out makes convolutions smaller.
 */
const readsAll = ({ nodes }: Graph, tiling: SegmentTiling, from: number): boolean =>
  [['H', 2] as const, ['W', 3] as const].every(([axis, dimension]) =>
    tiling[axis][0]!.readings.every(
      ({ interval }, index) => index === 0 || (interval.from === 0 && interval.to === nodes[from + index]!.input[dimension])
    )
  )

/** From all convolutions that gain by Winograd down to none, none of them slower than the next. */
export const winogradVariants = (graph: StepGraph, device: DeviceModel): Variants => {
  const { parameters, parameterBytes } = createModelScope(graph, device, createPool())
  const timer = segmentTimer(graph, device)
  const gains = transformablePositions({ parameters })
    .filter((position) => isFaster(timer, parameters.length, position))
    .map((position): Gain => {
      const { shape, groups } = parameters[position]!.weight!
      return {
        position,
        bytes: parameterBytes * weightElements('winogradForward', shape as readonly [number, number, number, number], groups)
      }
    })
  const variantsOf = ({ from, to }: Span): readonly Variant[] => {
    const inside = gains.filter(({ position }) => from <= position && position < to)
    if (inside.length === 0) return [{}]
    const largest = Math.max(...inside.map(({ bytes }) => bytes))
    const lists = [inside, ...shares.map((share) => inside.filter(({ bytes }) => bytes < share * largest))]
    const different = lists
      .filter((list, index) => list.length > 0 && list.length !== lists[index - 1]?.length)
      .map((list): Variant => ({ winograd: list.map(({ position }) => position) }))
    const tiling = segmentTiling(graph, { from, to }, untiled)
    if (tiling === undefined || readsAll(graph, tiling, from)) return [...different, {}]
    const isFasterThan = (one: Variant, other: Variant): boolean =>
      (to < parameters.length ? [false, true] : [false]).every((recompute) => {
        const [time, otherTime] = [one, other].map((variant) =>
          timer({ from, to, grid: untiled, recompute, reorder: 'once', ...variant }).nanoseconds()
        )
        return time! < otherTime!
      })
    return different.reduceRight<readonly Variant[]>((slower, one) => (isFasterThan(one, slower[0]!) ? [one, ...slower] : slower), [{}])
  }
  return memoize(({ from, to }) => `${from},${to}`, variantsOf)
}
