import * as E from 'fp-ts/Either'
import type { Op, OpArguments } from '../arguments'
import { layerText } from '../flat/layer-text'
import { isConvolutionOp, isTransformable, mayExchange, opRecords, takesMaxima } from '../ops'
import type { Plan, PlanGrid, PlanSwapInterval, PlanSegment } from './plan'
import type { PlanFile } from './plan-file'
import { allDims, showDims, statisticsOf, type Dim } from '../shapes/segment'
import { showShape, type Shape } from '../shapes/shape'

/** An op of the flattened model, the loss that training appends included. */
export interface PlannedLayer {
  readonly name: string
  readonly op: Op
  readonly args: OpArguments[Op]
  /** Tensors: 0 is the net's input, k the output of the k-th op. */
  readonly inputs: readonly number[]
}

const firstDefined = <A>(values: readonly A[], mistakeOf: (value: A, index: number) => string | undefined): string | undefined => {
  for (const [index, value] of values.entries()) {
    const mistake = mistakeOf(value, index)
    if (mistake !== undefined) return mistake
  }
  return undefined
}

/**
 * Returns one sentence on why a plan's layers are not those of the model, or undefined where all is
 * right.
 */
const validateLayers = (layers: readonly PlannedLayer[], texts: readonly string[]): string | undefined => {
  const other = layers.slice(0, texts.length).findIndex(({ op, args }, place) => layerText(op, args) !== texts[place])
  if (other !== -1) {
    const { name, op, args } = layers[other]!
    return `layer ${other}: the model has ${layerText(op, args)} (${name}), the plan ${texts[other]}`
  }
  return layers.length === texts.length ? undefined : `layers: the model has ${layers.length}, its loss included, the plan ${texts.length}`
}

/**
 * Returns one sentence on why an input [B, C, H, W] is none, or not the model's own, or undefined
 * where all is right.
 */
const validateInput = (own: Shape | undefined, input: Shape): string | undefined => {
  if (input.length !== 4) return `input: takes images BxCxHxW, not ${showShape(input)}`
  if (!input.every((extent) => Number.isInteger(extent) && extent > 0)) return `input: ${showShape(input)} must be whole numbers above 0`
  return own === undefined || own.join() === input.join()
    ? undefined
    : `input: the model takes ${showShape(own)}, the plan is for ${showShape(input)}`
}

/**
 * Returns one sentence on why a plan that needs `peak` bytes does not fit `budget`, or undefined
 * where all is right.
 */
const validatePeak = (peak: number, budget: number | null): string | undefined =>
  budget !== null && peak > budget ? `the peak of ${peak} bytes is over the budget of ${budget}` : undefined

const elementBytes: Readonly<Record<string, number>> = { bf16: 2, float64: 8 }

/**
 * Returns one sentence on why a plan whose first segment takes the whole input needs more than it
 * says, or undefined where all is right.
 */
const validateInputBytes = ({ input, peak, segments, device }: PlanFile): string | undefined => {
  const bytes = input.reduce((product, extent) => product * extent, elementBytes[device.precision] ?? 4)
  const isWhole = segments[0] !== undefined && tiledDims(segments[0].grid).length === 0
  return isWhole && peak < bytes ? `the plan's peak is ${peak} bytes, but its input alone needs ${bytes}` : undefined
}

/** Tells whether what the layer at `place` makes is read by the layer after it alone. */
const isReadNextOnly = (layers: readonly PlannedLayer[], place: number): boolean =>
  layers.every(({ inputs }, reader) => inputs.includes(place + 1) === (reader === place + 1))

/**
 * Returns one sentence on why `order` is not the positions of all layers, each in its place or a
 * max pool before the rectifier that it follows, whose output nothing else reads; undefined where
 * it is.
 */
export const validateOrder = (layers: readonly PlannedLayer[], order: readonly number[]): string | undefined => {
  if (order.length !== layers.length) return `order: the model has ${layers.length} layers, its loss included, the order ${order.length}`
  for (let place = 0; place < order.length; place++) {
    if (order[place] === place) continue
    const exchanged = order[place] === place + 1 && order[place + 1] === place
    if (!exchanged || !mayExchange(layers[place]!.op, layers[place + 1]!.op) || !isReadNextOnly(layers, place))
      return `order: ${order[place]} cannot run at position ${place}; only a max pool may run before the rectifier that it follows`
    place++
  }
  return undefined
}

type TileDim = Dim | 'C'
const without = (dims: readonly TileDim[], allowed: readonly TileDim[]): readonly TileDim[] => dims.filter((dim) => !allowed.includes(dim))

/**
 * Returns one sentence on why the layers from position `from` up to `to` cannot run together in
 * tiles along `dims`, or undefined where all is right.
 */
const validateTiles = (
  layers: readonly PlannedLayer[],
  { from, to }: Pick<PlanSegment, 'from' | 'to'>,
  dims: readonly TileDim[]
): string | undefined =>
  firstDefined(layers.slice(from, to), ({ op, args, inputs }, place) => {
    const { inside, last } = opRecords[op].segment
    const [whereInside, whereLast] = [without(dims, inside), without(dims, last)]
    if (whereLast.length > 0) return `cannot tile along ${showDims(whereLast)}; ${op} allows ${showDims(last)}`
    const gathered = inputs.find((tensor) => tensor > from || tensor === 0)
    const cut = gathered === undefined ? [] : statisticsOf(op, args).filter((dim) => dims.includes(dim))
    if (cut.length > 0)
      return `cannot tile along ${showDims(cut)}; ${op} needs the statistics of the whole ${gathered === 0 ? 'input, so a segment must end after it' : 'tensor before it, so a segment must end before it'}`
    return from + place === to - 1 || whereInside.length === 0
      ? undefined
      : `cannot tile along ${showDims(whereInside)}; ${op} sums over the pixels, so it must be the segment's last op`
  })

/** Nothing tiles along C, and asking for it is refused by name. */
const tiledDims = (grid: PlanGrid & { readonly C?: number }): readonly TileDim[] =>
  (['B', 'C', 'H', 'W'] as const).filter((dim) => (grid[dim] ?? 1) !== 1)

const validateGrid = (layers: readonly PlannedLayer[], segment: PlanSegment, isLast: boolean): string | undefined => {
  const { grid, recompute } = segment
  if (!allDims.every((dim) => Number.isInteger(grid[dim]) && grid[dim] > 0)) return 'tile counts must be whole numbers above 0'
  const dims = tiledDims(grid)
  return (
    validateTiles(layers, segment, dims) ??
    (dims.length > 0 && !recompute && !isLast ? 'what is tiled is recomputed in backward; recompute must be true' : undefined)
  )
}

const validatePrefetch = ({ grid, prefetch }: PlanSegment): string | undefined =>
  prefetch === undefined || tiledDims(grid).length > 0 ? undefined : 'prefetch: only a segment in tiles can prefetch'

/** A segment whose checkpoint may be its end alone. */
export interface UnnamedSegment extends PlanSegment {
  readonly checkpoint?: string
}

const validateCheckpoint = (layers: readonly PlannedLayer[], { to, checkpoint }: UnnamedSegment): string | undefined => {
  const last = layers[to - 1]!.name
  if (checkpoint === undefined || checkpoint === last) return undefined
  return layers.some(({ name }) => name === checkpoint)
    ? `its last layer is ${last}, not ${checkpoint}`
    : `there is no layer ${checkpoint}; its last one is ${last}`
}

/**
 * Returns one sentence on why a segment has no layer of this name, or undefined where all is right.
 */
const outsideError = (
  layers: readonly PlannedLayer[],
  { from, to }: UnnamedSegment,
  field: 'winograd' | 'hostTensors',
  name: string
): string | undefined => {
  const place = layers.findIndex((layer) => layer.name === name)
  if (place === -1) return `${field}: there is no layer ${name}`
  return from <= place && place < to ? undefined : `${field}: ${name} is not in this segment`
}

/**
 * Returns why a segment cannot run these of its layers by Winograd; whether a device can is its own
 * to say.
 */
const validateWinograd = (layers: readonly PlannedLayer[], segment: UnnamedSegment): string | undefined =>
  firstDefined(segment.winograd ?? [], (name) => {
    const layer = layers.find((one) => one.name === name)
    if (layer !== undefined && !isConvolutionOp(layer.op)) return `winograd: ${name} is no convolution but ${layer.op}`
    const outside = outsideError(layers, segment, 'winograd', name)
    if (outside !== undefined || layer === undefined || isTransformable(layer.op, layer.args)) return outside
    return `winograd: there is none for ${name} (${layerText(layer.op, layer.args)}); it takes 3x3 kernels with strides and dilations of 1 and one group`
  })

/**
 * Returns one sentence on why the segment at `place` cannot run forward again before the backward
 * of the next one that does not, or undefined where all is right.
 */
export const validateRematerializations = (
  segments: readonly Pick<PlanSegment, 'rematerialize' | 'recompute'>[],
  place: number
): string | undefined => {
  const { rematerialize, recompute } = segments[place]!
  if (rematerialize !== true) return undefined
  const before = segments.findIndex((segment, at) => at > place && segment.rematerialize !== true)
  if (before === -1 || before === segments.length - 1)
    return 'rematerialize: the last segment runs backward right after forward, so what leads up to it is still there'
  return recompute ? undefined : 'rematerialize: what runs forward again saves nothing; recompute must be true'
}

/**
 * Returns one sentence on why the output of a layer cannot pass a segment in bands of rows, or
 * undefined where all is right.
 */
export const validateHostRows = (
  name: string,
  { from, to, grid: { B, H, W } }: Pick<PlanSegment, 'from' | 'to' | 'grid'>
): string | undefined =>
  B === 1 && W === 1
    ? undefined
    : `hostTensors: the output of ${name} passes segment ${from}..${to} in bands of rows, so its grid must be 1x${H}x1 instead of ${B}x${H}x${W}`

/**
 * Returns one sentence on why outputs of these of a segment's layers cannot leave it for the host,
 * as far as its own layers tell, or undefined where all is right.
 */
const validateHostTensor = (layers: readonly PlannedLayer[], segment: UnnamedSegment): string | undefined =>
  firstDefined(segment.hostTensors ?? [], (name) => outsideError(layers, segment, 'hostTensors', name) ?? validateHostRows(name, segment))

/**
 * Returns one sentence on why segments do not cover the layers, which stand (and number tensors) in
 * the order in which they run, or are tiled where that is not exact, or undefined where all is
 * right.
 */
export const validateSegments = (layers: readonly PlannedLayer[], segments: readonly UnnamedSegment[]): string | undefined => {
  const end = layers.length
  const early = (to: number): string => `the segments end at ${to}, but the model has ${end} layers, its loss included`
  return segments.length === 0
    ? early(0)
    : firstDefined(segments, (segment, place) => {
        const { from, to } = segment
        const expected = segments[place - 1]?.to ?? 0
        const isLast = place === segments.length - 1
        if (from !== expected)
          return place === 0
            ? `the first segment must start at 0, not at ${from}`
            : `segments must follow each other: this one starts at ${from}, the one before ends at ${expected}`
        const within = (mistake: string | undefined): string | undefined => mistake && `segment ${from}..${to}: ${mistake}`
        if (!Number.isInteger(to) || to <= from || to > end) return within(`it must end after ${from} and at ${end} at the latest`)
        if (isLast && to !== end) return early(to)
        return within(
          validateGrid(layers, segment, isLast) ??
            validateCheckpoint(layers, segment) ??
            validatePrefetch(segment) ??
            validateWinograd(layers, segment) ??
            validateRematerializations(segments, place) ??
            validateHostTensor(layers, segment)
        )
      })
}

/**
 * Returns why tensors cannot wait on the host, as far as names tell; when they are made and read,
 * only lowering knows.
 */
export const validateSwapSchedule = (layers: readonly PlannedLayer[], swapSchedule: readonly PlanSwapInterval[]): string | undefined => {
  const tensors = new Set(
    layers.flatMap(({ name, op }) => [`output of ${name}`, `input of ${name}`, ...(takesMaxima(op) ? [`indices of ${name}`] : [])])
  )
  const timepoints = new Set(layers.flatMap(({ name }) => [`forward ${name}`, `backward ${name}`]))
  return firstDefined(swapSchedule, ({ tensor, swapOut, freed, swapIn }) =>
    tensors.has(tensor)
      ? firstDefined([swapOut, freed, swapIn], (timepoint) =>
          timepoints.has(timepoint) ? undefined : `swapSchedule: there is no timepoint ${timepoint}`
        )
      : `swapSchedule: there is no tensor ${tensor}`
  )
}

/**
 * Returns one sentence on why a plan that leaves a tensor on the host cannot need no bytes there,
 * or undefined where all is right.
 */
const validateHostBytes = ({ swapSchedule = [], segments, predicted }: PlanFile): string | undefined => {
  const [tensor] = [
    ...swapSchedule.map(({ tensor }) => tensor),
    ...segments.flatMap(({ hostTensors = [] }) => hostTensors.map((name) => `output of ${name}`))
  ]
  return tensor === undefined || predicted.peakHostBytes !== 0
    ? undefined
    : `predicted: peakHostBytes cannot be 0 where the ${tensor} waits on the host`
}

const minPageBytes = 4096

const validatePlacement = ({ placement }: Plan): string | undefined =>
  placement === undefined || (placement.pageBytes > 0 && placement.pageBytes % minPageBytes === 0)
    ? undefined
    : `placement: pages of ${placement.pageBytes} bytes are no multiple of ${minPageBytes}`

/** The layers as they run; what an exchange puts into another's place reads what that one read. */
const inPlanOrder = (layers: readonly PlannedLayer[], order: readonly number[]): readonly PlannedLayer[] =>
  order.map((position, place) => ({ ...layers[position]!, inputs: layers[place]!.inputs }))

/**
 * Checks a plan against a model's layers and its own input, where it has one: the sentences that
 * planFor's types give, the first of them. For JSON, for JavaScript, and for what types are too
 * wide to tell.
 */
export const checkPlan = <P extends PlanFile>(layers: readonly PlannedLayer[], own: Shape | undefined, plan: P): E.Either<string, P> => {
  const mistake =
    validateLayers(layers, plan.layers) ??
    validateInput(own, plan.input) ??
    validatePeak(plan.peak, plan.budget) ??
    validateInputBytes(plan) ??
    validateOrder(layers, plan.order) ??
    validateSegments(inPlanOrder(layers, plan.order), plan.segments) ??
    validateSwapSchedule(layers, plan.swapSchedule ?? []) ??
    validateHostBytes(plan) ??
    validatePlacement(plan)
  return mistake === undefined ? E.right(plan) : E.left(mistake)
}
