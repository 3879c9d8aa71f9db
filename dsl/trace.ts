import * as E from 'fp-ts/Either'
import type { Layers, MarkArguments, Op, OpArguments } from './arguments'
import { flatLayers, type FlatLayer } from './flat-layers'
import { opSegments, showDims, type Dim } from './segment'
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
}

const allDims: readonly Dim[] = ['B', 'H', 'W']
const inside = (shape: Shape, dims: readonly Dim[]): readonly Dim[] => (shape.length === 4 ? dims : dims.filter((dim) => dim === 'B'))

const applyOp = (op: Op, args: OpArguments[Op], name: string, state: State): E.Either<string, State> => {
  const output = (shapeRules[op] as ShapeRule<OpArguments[Op]>)(args, state.shape)
  if (E.isLeft(output)) return E.left(`${name}: ${output.left}`)
  const allowed: readonly Dim[] = opSegments[op].dims
  const dims = inside(state.shape, state.dims).filter((dim) => allowed.includes(dim))
  const refused = state.tiled.filter((dim) => !dims.includes(dim))
  return refused.length > 0
    ? E.left(`${name}: ${op}: cannot tile along ${showDims(refused)}; ${op} allows ${showDims(dims)}`)
    : E.right({ ...state, shape: output.right, dims, heldBytes: state.heldBytes + (opSegments[op].inPlace ? 0 : bytesOf(output.right)) })
}

const applyCheckpoint = ({ budget }: MarkArguments['checkpoint'], { shape, heldBytes }: State): E.Either<string, State> =>
  budget !== undefined && heldBytes > budget
    ? E.left(`this segment holds ${heldBytes} bytes, over the budget of ${budget}`)
    : E.right({ shape, dims: inside(shape, allDims), heldBytes: 0, tiled: [] })

const applyTile = (counts: MarkArguments['tile'], state: State): E.Either<string, State> => {
  const wanted = Object.entries(counts).filter(([, count]) => count !== 1)
  const unfit = wanted.find(([, count]) => !(Number.isInteger(count) && count > 0))
  if (unfit) return E.left('tile: counts must be whole numbers above 0')
  const dims = wanted.map(([dim]) => dim as Dim)
  const refused = dims.filter((dim) => !state.dims.includes(dim))
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
  const names = layers.filter(({ op }) => op !== 'checkpoint' && op !== 'tile').map(({ name }) => name)
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
  let state: State = { shape: input, dims: allDims, heldBytes: 0, tiled: [] }
  for (const layer of flat) {
    const next = apply(layer, state)
    if (E.isLeft(next)) return next
    state = next.right
    traced.push({ ...layer, output: state.shape })
  }
  return E.right(traced)
}
