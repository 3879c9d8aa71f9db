import { layerText } from '../flat/layer-text'
import { isConvolutionOp, isTransformable } from '../ops'
import { allDims, segmentOp, segmentRules, showDims, statisticsDims, type Dim } from '../shapes/segment'
import { firstSentence } from './first-sentence'
import type { PlanGrid, PlanSegment } from './plan'
import type { PlannedLayer } from './planned-layer'

type TileDim = Dim | 'C'
const without = (dims: readonly TileDim[], allowed: readonly TileDim[]): readonly TileDim[] => dims.filter((dim) => !allowed.includes(dim))

/**
 * The dimensions along which a cut goes through statistics. Ranks merge those where segments end,
 * of single images too, so none are taken inside what they share.
 */
const cutStatistics = (needed: readonly Dim[], dims: readonly TileDim[], verb: 'tile' | 'shard'): readonly TileDim[] =>
  verb === 'shard' && needed.length > 0 ? dims : needed.filter((dim) => dims.includes(dim))

/**
 * Returns one sentence on why the layers from position `from` up to `to` cannot run together in
 * tiles, or in parts of ranks, along `dims`, or undefined where all is right.
 */
const validateTiles = (
  layers: readonly PlannedLayer[],
  { from, to }: Pick<PlanSegment, 'from' | 'to'>,
  dims: readonly TileDim[],
  verb: 'tile' | 'shard' = 'tile'
): string | undefined =>
  firstSentence(layers.slice(from, to), ({ op, args, inputs }, place) => {
    const acting = segmentOp(op, args)
    const { inside, last } = segmentRules(acting)
    const [whereInside, whereLast] = [without(dims, inside), without(dims, last)]
    if (whereLast.length > 0) return `cannot ${verb} along ${showDims(whereLast)}; ${op} allows ${showDims(last)}`
    const reduced = inputs.find((tensor) => tensor > from || tensor === 0)
    const cut = reduced === undefined ? [] : cutStatistics(statisticsDims(op, args), dims, verb)
    if (cut.length > 0)
      return `cannot ${verb} along ${showDims(cut)}; ${op} needs the statistics of the whole ${reduced === 0 ? 'input, so a segment must end after it' : 'tensor before it, so a segment must end before it'}`
    const sum = from + place + 1
    return whereInside.length > 0 && layers.slice(sum, to).some((reader) => reader.inputs.includes(sum))
      ? `cannot ${verb} along ${showDims(whereInside)}; ${acting} sums over the pixels, so it must be the segment's last op`
      : undefined
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

const validateShards = (layers: readonly PlannedLayer[], segment: PlanSegment): string | undefined => {
  const { B = 1, H = 1 } = segment.shards ?? {}
  if (!Number.isInteger(B) || B <= 0 || !Number.isInteger(H) || H <= 0) return 'shards must be whole numbers above 0'
  return validateTiles(layers, segment, tiledDims({ B, H, W: 1 }), 'shard')
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
  field: 'winograd' | 'normaliseOnLoad' | 'hostTensors',
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
  firstSentence(segment.winograd ?? [], (name) => {
    const layer = layers.find((one) => one.name === name)
    if (layer !== undefined && !isConvolutionOp(layer.op)) return `winograd: ${name} is no convolution but ${layer.op}`
    const outside = outsideError(layers, segment, 'winograd', name)
    if (outside !== undefined || layer === undefined || isTransformable(layer.op, layer.args)) return outside
    return `winograd: there is none for ${name} (${layerText(layer.op, layer.args)}); it takes 3x3 kernels with strides of 1 and one group`
  })

/**
 * Returns why these of a segment's layers cannot normalise what they read; what they read is the
 * device's to say.
 */
const validateNormaliseOnLoad = (layers: readonly PlannedLayer[], segment: UnnamedSegment): string | undefined =>
  firstSentence(segment.normaliseOnLoad ?? [], (name) => {
    const layer = layers.find((one) => one.name === name)
    if (layer !== undefined && !isConvolutionOp(layer.op)) return `normaliseOnLoad: ${name} is no convolution but ${layer.op}`
    return outsideError(layers, segment, 'normaliseOnLoad', name)
  })

/** Returns why a segment cannot run these of its layers in slices, or undefined. */
const validateSlices = ({ winograd = [], slicedWinograd = [] }: UnnamedSegment): string | undefined =>
  firstSentence(slicedWinograd, (name) =>
    winograd.includes(name) ? undefined : `slicedWinograd: ${name} is not among the convolutions of winograd`
  )

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
  firstSentence(segment.hostTensors ?? [], (name) => outsideError(layers, segment, 'hostTensors', name) ?? validateHostRows(name, segment))

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
    : firstSentence(segments, (segment, place) => {
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
            validateShards(layers, segment) ??
            validateCheckpoint(layers, segment) ??
            validatePrefetch(segment) ??
            validateWinograd(layers, segment) ??
            validateSlices(segment) ??
            validateNormaliseOnLoad(layers, segment) ??
            validateRematerializations(segments, place) ??
            validateHostTensor(layers, segment)
        )
      })
}
