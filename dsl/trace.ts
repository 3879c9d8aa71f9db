import * as E from 'fp-ts/Either'
import type { Layers, MarkArguments, Op, OpArguments } from './arguments'
import { flatLayers, type FlatLayer } from './flat-layers'
import { allDims, dimsAtStart, isMark, opSegments, showDims, type Dim } from './segment'
import { bytesOf, showShape, type Shape } from './shape'
import { shapeRules, type ShapeRule } from './shape-rules'

/** A layer with the shape that it makes. */
export type TracedLayer = FlatLayer & { readonly output: Shape }

/** What the type Tensor knows, as values. */
interface State {
  readonly shape: Shape
  readonly dims: readonly Dim[]
  readonly heldBytes: number
  readonly tiled: readonly Dim[]
  readonly last: Op | undefined
}

const common = (dims: readonly Dim[], allowed: readonly Dim[]): readonly Dim[] => dims.filter((dim) => allowed.includes(dim))
const without = (dims: readonly Dim[], allowed: readonly Dim[]): readonly Dim[] => dims.filter((dim) => !allowed.includes(dim))

const startOf = (shape: Shape): State => ({ shape, dims: dimsAtStart(shape), heldBytes: 0, tiled: [], last: undefined })

const applyOp = (op: Op, args: OpArguments[Op], name: string, { shape, dims, heldBytes, tiled, last }: State): E.Either<string, State> => {
  const output = (shapeRules[op] as ShapeRule<OpArguments[Op]>)(args, shape)
  if (E.isLeft(output)) return E.left(`${name}: ${output.left}`)
  const inside = last === undefined ? allDims : opSegments[last].inside
  const summed = without(tiled, inside)
  if (summed.length > 0)
    return E.left(
      `${name}: ${op}: cannot tile along ${showDims(summed)}; ${last} sums over the pixels, so it must be the segment's last op (put a checkpoint after it)`
    )
  const allowed = opSegments[op].last
  const refused = without(tiled, allowed)
  if (refused.length > 0) return E.left(`${name}: ${op}: cannot tile along ${showDims(refused)}; ${op} allows ${showDims(allowed)}`)
  return E.right({
    shape: output.right,
    dims: common(common(dims, inside), allowed),
    heldBytes: heldBytes + (opSegments[op].inPlace ? 0 : bytesOf(output.right)),
    tiled,
    last: op
  })
}

const applyCheckpoint = ({ budget }: MarkArguments['checkpoint'], { shape, heldBytes }: State): E.Either<string, State> =>
  budget !== undefined && heldBytes > budget
    ? E.left(`this segment holds ${heldBytes} bytes, over the budget of ${budget}`)
    : E.right(startOf(shape))

const applyTile = (counts: MarkArguments['tile'], state: State): E.Either<string, State> => {
  const wanted = Object.entries(counts).filter(([, count]) => count !== 1)
  const unfit = wanted.find(([, count]) => !(Number.isInteger(count) && count > 0))
  if (unfit) return E.left('tile: counts must be whole numbers above 0')
  const dims = wanted.map(([dim]) => dim as Dim)
  const refused = without(dims, state.dims)
  return refused.length > 0
    ? E.left(`tile: cannot tile along ${showDims(refused)}; this segment allows ${showDims(state.dims)}`)
    : E.right({ ...state, tiled: [...new Set([...state.tiled, ...dims])] })
}

const apply = (layer: FlatLayer, state: State): E.Either<string, State> =>
  layer.op === 'checkpoint'
    ? applyCheckpoint(layer.args, state)
    : layer.op === 'tile'
      ? applyTile(layer.args, state)
      : applyOp(layer.op, layer.args, layer.name, state)

const repeatedName = (layers: readonly FlatLayer[]): string | undefined => {
  const names = layers.filter(({ op }) => !isMark(op)).map(({ name }) => name)
  return names.find((name, position) => names.indexOf(name) !== position)
}

/**
 * All layers with their shapes, for images of shape [B, C, H, W]; or one sentence about the first layer that does not fit, the
 * same that the types give. Checks at run time what the types could not know: sizes read from a file, models that no compiler saw.
 */
export const trace = (layers: Layers, input: Shape): E.Either<string, readonly TracedLayer[]> => {
  if (input.length !== 4) return E.left(`input: takes images BxCxHxW, not ${showShape(input)}`)
  if (!input.every((extent) => Number.isInteger(extent) && extent > 0))
    return E.left(`input: ${showShape(input)} must be whole numbers above 0`)
  const flat = flatLayers(layers)
  const repeated = repeatedName(flat)
  if (repeated !== undefined) return E.left(`two layers are named ${repeated}; names must differ`)
  const traced: TracedLayer[] = []
  let state = startOf(input)
  for (const layer of flat) {
    const next = apply(layer, state)
    if (E.isLeft(next)) return next
    state = next.right
    traced.push({ ...layer, output: state.shape })
  }
  return E.right(traced)
}
