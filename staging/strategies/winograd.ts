import type { DeviceModel } from '../devices/device-model'
import { elementCount } from '../graph/extents'
import type { Graph } from '../graph/graph'
import type { StepGraph } from '../graph/step-graph'
import { weightElements } from '../kernels/layout'
import { segmentTimer } from '../lowering/cost/segment-times'
import type { ParameterTensor } from '../lowering/scope/parameter-tensor'
import type { ModelScope } from '../lowering/scope/scope'
import { channelSlices } from '../lowering/scope/weight-slices'
import { createModelScope } from '../lowering/segment/create-scope'
import { createPool } from '../lowering/ir/builder'
import { transformablePositions } from '../lowering/segment/winograd'
import { segmentTiling, type SegmentTiling } from '../graph/tiling'
import { untiled, type Span } from '../graph/span'
import { lazy, memoize } from '../memoize'
import { decidedBy } from './decided-by'
import type { Variant, Variants } from './strategy'

/** Nanoseconds where forward runs once, and where it runs again for backward. */
type Pair = readonly [number, number]

/**
 * A convolution that is faster by Winograd on the whole image, the transformation of weights
 * included, and the bytes of its transformed weights.
 */
interface Gain {
  readonly position: number
  readonly bytes: number
  readonly direct: Pair
  readonly winograd: Pair
  /** In slices; undefined where that gains nothing. */
  readonly sliced: Pair | undefined
  /** Whether slices are no slower than the whole, and so what `winograd` and `bytes` are of. */
  readonly isAlwaysSliced: boolean
  /** Whether its weights are read as they are stored where nothing is tiled. */
  readonly isOfStored: boolean
  /** Whether it gains in tiles too, where they are transformed beforehand. */
  readonly isForTiles: boolean
}

/**
 * Between all and none: those whose transformed weights take less than these shares of the largest
 * ones.
 */
const shares = [1 / 4]

/**
 * Each slice has a launch for each image, so that many images have many; and transformed weights
 * that are smaller than this share of the activations around them matter little.
 */
const [mostLaunches, leastShare] = [64, 1]

const isFaster = (one: Pair, other: Pair): boolean => one[0] < other[0] && one[1] < other[1]

const createPairs =
  (timer: ReturnType<typeof segmentTimer>, nodes: number, position: number) =>
  (variant: Variant): Pair => {
    const [once, again] = [position + 1, Math.min(position + 2, nodes)].map((to) =>
      timer({ from: position, to, grid: untiled, recompute: to < nodes, reorder: 'once', ...variant }).nanoseconds()
    )
    return [once!, again!]
  }

/**
 * Whether these convolutions compute all of their outputs in a segment without tiles: what strides
 * and floors after them leave out makes them smaller.
 */
const computesAll = ({ nodes }: Graph, tiling: SegmentTiling, positions: readonly number[]): boolean =>
  [['H', 2] as const, ['W', 3] as const].every(([axis, dimension]) =>
    positions.every((position) => {
      const { from, to } = tiling[axis][0]!.held.get(position + 1)!
      return from === 0 && to === nodes[position]!.output[dimension]
    })
  )

const directions = ['forward', 'backward'] as const

/** As many slices as forward or backward has the more. */
const countSlices = (weight: ParameterTensor): number => Math.max(...directions.map((direction) => channelSlices(weight, direction).length))

/** Whether so many slices leave much memory of what a convolution takes, with few launches. */
const mayPay = (scope: ModelScope, slices: number, position: number, bytes: number): boolean => {
  const { input, output } = scope.graph.nodes[position]!
  const activations = elementCount(input) + elementCount(output)
  return slices > 1 && slices * input[0] <= mostLaunches && bytes >= leastShare * activations * scope.activationBytes
}

const findGains = (graph: StepGraph, device: DeviceModel, timer: ReturnType<typeof segmentTimer>): readonly Gain[] => {
  const transforming = lazy(() => segmentTimer(graph, { ...device, winogradOfStored: () => false }))
  const scope = createModelScope(graph, device, createPool())
  return transformablePositions(scope).flatMap((position): readonly Gain[] => {
    const weight = scope.parameters[position]!.weight!
    const timesOf = createPairs(timer, graph.nodes.length, position)
    const [direct, whole] = [timesOf({}), timesOf({ winograd: [position] })]
    if (!isFaster(whole, direct)) return []
    const { shape, groups, storedForWinograd } = weight
    const elements = weightElements(weight.transformed!.forward, shape as readonly [number, number, number, number], groups)
    const isOfStored = storedForWinograd.length === directions.length
    const [bytes, slices] = [scope.parameterBytes * elements, countSlices(weight)]
    const times =
      !isOfStored && mayPay(scope, slices, position, bytes) ? timesOf({ winograd: [position], slicedWinograd: [position] }) : undefined
    const sliced = times !== undefined && isFaster(times, direct) ? times : undefined
    const isForTiles =
      storedForWinograd.length === 0 ||
      sliced !== undefined ||
      isFaster(createPairs(transforming(), graph.nodes.length, position)({ winograd: [position] }), direct)
    const gain = { position, direct, sliced, isOfStored, isForTiles }
    if (sliced === undefined || isFaster(whole, sliced)) return [{ ...gain, bytes, winograd: whole, isAlwaysSliced: false }]
    return [{ ...gain, bytes: bytes / slices, winograd: sliced, isAlwaysSliced: true }]
  })
}

const positionsOf = (gains: readonly Gain[]): readonly number[] => gains.map(({ position }) => position)

/**
 * Those of which no weights of so many bytes or more are transformed beforehand, those in slices
 * that some condition holds for.
 */
const byWinograd = (all: readonly Gain[], mostBytes: number, isSliced: (gain: Gain) => boolean): Variant => {
  const gains = all.filter(({ bytes, isOfStored }) => isOfStored || bytes < mostBytes)
  const slicedWinograd = positionsOf(gains.filter(isSliced))
  const inTiles = gains.filter(({ bytes, isForTiles }) => isForTiles && bytes < mostBytes)
  return {
    winograd: positionsOf(gains),
    ...(inTiles.length < gains.length && { winogradInTiles: positionsOf(inTiles) }),
    ...(slicedWinograd.length > 0 && { slicedWinograd })
  }
}

/** Whether two lists of which one is a part of the other are the same, in tiles too. */
const isAlike = (one: Variant, other: Variant | undefined): boolean =>
  one.winograd?.length === other?.winograd?.length && one.winogradInTiles?.length === other?.winogradInTiles?.length

/**
 * Whether all of these are faster by Winograd, those in slices that may be, than some of them by
 * Winograd whole: wherever forward runs again, and wherever not.
 */
const isFasterInSlices = (gains: readonly Gain[], whole: ReadonlySet<number>): boolean => {
  const most = gains.reduce((sum, { position, direct, winograd, sliced = winograd }) => {
    const other = whole.has(position) ? winograd : direct
    return sum + Math.max(sliced[0] - other[0], sliced[1] - other[1])
  }, 0)
  return most < 0
}

/**
 * From all convolutions that gain by Winograd, first whole and then in slices where that pays, down
 * to none, none of them slower than the next.
 */
export const winogradVariants = (graph: StepGraph, device: DeviceModel, timer: ReturnType<typeof segmentTimer>): Variants => {
  const gains = findGains(graph, device, timer)
  const variantsOf = ({ from, to }: Span): readonly Variant[] => {
    const inside = gains.filter(({ position }) => from <= position && position < to)
    if (inside.length === 0) return [{}]
    const largest = Math.max(...inside.map(({ bytes }) => bytes))
    const limited = [Infinity, ...shares.map((share) => share * largest)].map((most) =>
      byWinograd(inside, most, ({ isAlwaysSliced }) => isAlwaysSliced)
    )
    const [all, ...smaller] = limited.filter((one, index) => one.winograd!.length > 0 && !isAlike(one, limited[index - 1]))
    const maySlice = inside.some(({ sliced, isAlwaysSliced }) => sliced !== undefined && !isAlwaysSliced)
    const sliced =
      maySlice && isFasterInSlices(inside, new Set(smaller[0]?.winograd))
        ? [byWinograd(inside, Infinity, (gain) => gain.sliced !== undefined)]
        : []
    const different = [all!, ...sliced, ...smaller]
    const tiling = segmentTiling(graph, { from, to }, untiled)
    if (tiling === undefined || computesAll(graph, tiling, positionsOf(inside))) return [...different, {}]
    const isFasterThan = (one: Variant, other: Variant): boolean =>
      (to < graph.nodes.length ? [false, true] : [false]).every((recompute) => {
        const whole = { grid: untiled, recompute }
        const [time, otherTime] = [one, other].map((variant) =>
          timer({ from, to, ...whole, reorder: 'once', ...decidedBy(variant, whole) }).nanoseconds()
        )
        return time! < otherTime! || one.winograd!.length === other.winograd?.length
      })
    return different.reduceRight<readonly Variant[]>((slower, one) => (isFasterThan(one, slower[0]!) ? [one, ...slower] : slower), [{}])
  }
  return memoize(({ from, to }) => `${from},${to}`, variantsOf)
}
