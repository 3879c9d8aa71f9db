import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import type { Layers, DirectiveArguments, Op, OpArguments } from '../arguments'
import { flatLayers, type FlatLayer } from './flat-layers'
import { unknownOptionError } from '../option-names'
import { opRecords } from '../ops'
import { validateNames } from './repeated-name'
import {
  allDims,
  dimsAtStart,
  isInPlace,
  isDirective,
  segmentOp,
  segmentRules,
  showDims,
  statisticsDims,
  type Dim,
  type SegmentOp
} from '../shapes/segment'
import { float32Bytes, showShape, type Shape, type ShapeRule } from '../shapes/shape'
import { shapeRules } from '../shapes/shape-rules'

/** A layer with the shape that it makes. */
export type TracedLayer = FlatLayer & { readonly output: Shape }

/** The knowledge of the type Segment as run-time values. */
interface Segment {
  /** Dimensions along which it can be tiled. */
  readonly dims: readonly Dim[]
  readonly heldBytes: number
  readonly tiled: readonly Dim[]
  readonly last: SegmentOp | undefined
  /** The reason why it cannot be tiled along all dimensions: an op in it needs statistics. */
  readonly statistical: string | undefined
  /** The last tensor that was made before it. */
  readonly from: number
}

const common = (dims: readonly Dim[], allowed: readonly Dim[]): readonly Dim[] => dims.filter((dim) => allowed.includes(dim))
const without = (dims: readonly Dim[], excluded: readonly Dim[]): readonly Dim[] => dims.filter((dim) => !excluded.includes(dim))

const startSegment = (shape: Shape, from: number): Segment => ({
  dims: dimsAtStart(shape),
  heldBytes: 0,
  tiled: [],
  last: undefined,
  statistical: undefined,
  from
})

/**
 * Words on which tensor's statistics an op needs; nothing can stand before the net's input, which
 * is tensor 0.
 */
const needsStatistics = (op: Op, tensor: number): string =>
  `${op} needs the statistics of the whole ${tensor === 0 ? 'input, so put a checkpoint after it' : 'tensor before it, so put a checkpoint before it'}`

type FlatOp = Extract<FlatLayer, { readonly op: Op }>

/** The segment with this op as its last, where `output` is the op's shape. */
const applyOp = ({ op, args, inputs }: FlatOp, output: Shape, segment: Segment): E.Either<string, Segment> => {
  const { dims, heldBytes, tiled, last, from } = segment
  const inside = last === undefined ? allDims : segmentRules(last).inside
  const summed = without(tiled, inside)
  if (summed.length > 0)
    return E.left(
      `${op}: cannot tile along ${showDims(summed)}; ${last} sums over the pixels, so it must be the segment's last op (put a checkpoint after it)`
    )
  const allowed = opRecords[op].segment.last
  const refused = without(tiled, allowed)
  if (refused.length > 0) return E.left(`${op}: cannot tile along ${showDims(refused)}; ${op} allows ${showDims(allowed)}`)
  const reduced = inputs.find((tensor) => tensor > from || tensor === 0)
  const whole = reduced === undefined ? [] : statisticsDims(op, args)
  const reason = needsStatistics(op, reduced ?? 0)
  const cut = common(tiled, whole)
  if (cut.length > 0) return E.left(`${op}: cannot tile along ${showDims(cut)}; ${reason}`)
  return E.right({
    ...segment,
    dims: without(common(common(dims, inside), allowed), whole),
    heldBytes: heldBytes + (isInPlace(op, args) ? 0 : float32Bytes(output)),
    last: segmentOp(op, args),
    statistical: common(dims, whole).length > 0 ? reason : segment.statistical
  })
}

const applyCheckpoint = (
  { budget }: DirectiveArguments['checkpoint'],
  shape: Shape,
  tensors: number,
  { heldBytes }: Segment
): E.Either<string, Segment> =>
  budget !== undefined && heldBytes > budget
    ? E.left(`this segment holds ${heldBytes} bytes, over the budget of ${budget}`)
    : E.right(startSegment(shape, tensors))

const applyTile = (counts: DirectiveArguments['tile'], isInBlock: boolean, segment: Segment): E.Either<string, Segment> => {
  const { dims, tiled, statistical } = segment
  if (isInBlock) return E.left('tile: stands inside a block; put it before or after the block')
  const unknown = Object.keys(counts).find((dim) => !['B', 'C', 'H', 'W'].includes(dim))
  if (unknown !== undefined) return E.left(unknownOptionError('tile', unknown))
  const wanted = Object.entries(counts).filter(([, count]) => count !== 1)
  const unfit = wanted.find(([, count]) => !(Number.isInteger(count) && count > 0))
  if (unfit) return E.left('tile: counts must be whole numbers above 0')
  const asked = wanted.map(([dim]) => dim as Dim | 'C')
  const refused = asked.filter((dim) => !(dims as readonly string[]).includes(dim))
  return refused.length === 0
    ? E.right({ ...segment, tiled: [...new Set([...tiled, ...(asked as readonly Dim[])])] })
    : E.left(
        `tile: cannot tile along ${showDims(refused)}; ${statistical === undefined || asked.includes('C') ? `this segment allows ${showDims(dims)}` : statistical}`
      )
}

/**
 * "features.0: conv2d: ..."; where the name says what it is, as a block's join's does, "add1: ...".
 */
const withLayerName = ({ name, op }: FlatLayer, sentence: string): string => {
  const isNamedSo = /[^.]*$/.exec(name)![0].replace(/\d+$/, '') === op && sentence.startsWith(`${op}: `)
  return `${name}: ${isNamedSo ? sentence.slice(`${op}: `.length) : sentence}`
}

/**
 * The layer's output and the segment that ends with it; `shapes` are those of all tensors so far.
 */
const apply = (
  layer: FlatLayer,
  shapes: readonly Shape[],
  segment: Segment
): E.Either<string, { readonly output: Shape; readonly segment: Segment }> => {
  const given = layer.inputs.map((tensor) => shapes[tensor]!)
  const after = E.map((ended: Segment) => ({ output: given[0]!, segment: ended }))
  const named = E.mapLeft((sentence: string) => withLayerName(layer, sentence))
  if (layer.op === 'checkpoint') return after(named(applyCheckpoint(layer.args, given[0]!, shapes.length - 1, segment)))
  if (layer.op === 'tile') return after(named(applyTile(layer.args, layer.block !== undefined, segment)))
  return pipe(
    (shapeRules[layer.op] as ShapeRule<OpArguments[Op]>)(layer.args, given, shapes[layer.block ?? 0]!),
    E.chain((output) =>
      pipe(
        applyOp(layer, output, segment),
        E.map((ended) => ({ output, segment: ended }))
      )
    ),
    named
  )
}

/**
 * All layers with their shapes, for images of shape [B, C, H, W]; or one sentence about the first
 * layer that does not fit, the same that the types give. Checks at run time what the types could
 * not know: sizes read from a file, models that no compiler saw.
 */
export const trace = (layers: Layers, input: Shape): E.Either<string, readonly TracedLayer[]> => {
  if (input.length !== 4) return E.left(`input: takes images BxCxHxW, not ${showShape(input)}`)
  if (!input.every((extent) => Number.isInteger(extent) && extent > 0))
    return E.left(`input: ${showShape(input)} must be whole numbers above 0`)
  const flat = flatLayers(layers)
  const traced: TracedLayer[] = []
  const shapes = [input]
  let segment = startSegment(input, 0)
  for (const layer of flat) {
    const next = apply(layer, shapes, segment)
    if (E.isLeft(next)) return next
    segment = next.right.segment
    traced.push({ ...layer, output: next.right.output })
    if (!isDirective(layer.op)) shapes.push(next.right.output)
  }
  const mistake = validateNames(flat)
  return mistake === undefined ? E.right(traced) : E.left(mistake)
}
