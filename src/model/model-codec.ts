import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import type * as t from 'io-ts'
import type { AnyLayer, Layers, Model } from '../../dsl'
import { listKnownOptions, validateOptionNames, type OpArguments } from '../../dsl/internal'
import { suggestion } from '../../staging/decoding/close-name'
import { decodeAs, formatValue } from '../../staging/decoding/decode'
import { strictObject } from '../../staging/decoding/strict-object'
import { predicateCodec } from '../../staging/decoding/predicate-codec'
import { decoderCodec, extentsCodec } from '../options/codecs'
import { layerCodecs } from './layer-codecs'

/** The depth of nested layers, and the number of all of them, that planning can walk. */
const [maxDepth, maxLayers] = [200, 10_000]

const tooDeep = `layers stand inside layers more than ${maxDepth} deep`

/** A layer, how many there are in it, and how deep they stand in each other. */
interface Counted {
  readonly layer: AnyLayer
  readonly count: number
  readonly depth: number
}
type Decoded = E.Either<string, Counted>

/**
 * Layers that were decoded already, since they stand in several places, and those that a layer
 * stands in.
 */
interface Walk {
  readonly known: Map<object, Decoded>
  readonly around: readonly object[]
}

const containers = ['seq', 'named', 'residual', 'gated', 'parallel'] as const
const known: readonly string[] = [...Object.keys(layerCodecs), ...containers]
const names: Readonly<Record<string, t.Mixed>> = layerCodecs

/** A value in words; a layer is a function too. */
const describeValue = (value: unknown): string => {
  const op: unknown = typeof value === 'function' && 'op' in value ? value.op : undefined
  return typeof op === 'string' ? `the layer ${op}` : formatValue(value)
}

const notALayer = (place: string, value: unknown): Decoded => {
  if (Array.isArray(value)) return E.left(`${place} is a list, not a layer; write seq([...]), or spread it: ...list`)
  const isUncalled = typeof value === 'function' && known.includes(value.name)
  return E.left(`${place} is ${formatValue(value)}, not a layer${isUncalled ? `; call it, as in ${value.name}()` : ''}`)
}

const sum = (counts: readonly Counted[]): number => counts.reduce((total, { count }) => total + count, 0)
const listLayers = (counted: readonly Counted[]): Layers => counted.map(({ layer }) => layer)

const list = (walk: Walk, place: string, value: unknown): E.Either<string, readonly Counted[]> =>
  Array.isArray(value)
    ? E.traverseArray(([index, one]: readonly [number, unknown]) => layerAt(walk, `${place}[${index}]`, one))([...value.entries()])
    : E.left(`${place} is ${describeValue(value)}, not a list of layers`)

type Held = Readonly<Record<string, unknown>>

const decodeName = (place: string, { name }: Held): E.Either<string, string> =>
  typeof name === 'string' && name !== '' ? E.right(name) : E.left(`${place}: its name is ${describeValue(name)}, not a text`)

/** A layer that holds others, from its arguments. */
const held = (walk: Walk, place: string, op: string, args: Held): Decoded | undefined => {
  const all = (field: string): E.Either<string, readonly Counted[]> => list(walk, `${place}.${field}`, args[field])
  const made = (inner: readonly Counted[], join: 0 | 1, held: object): Counted => ({
    layer: { op, args: held } as AnyLayer,
    count: join + sum(inner),
    depth: 1 + inner.reduce((deepest, { depth }) => Math.max(deepest, depth), 0)
  })
  switch (op) {
    case 'seq':
      return pipe(
        args['name'] === undefined ? E.right({}) : E.map((name) => ({ name }))(decodeName(place, args)),
        E.bindTo('named'),
        E.bind('layers', () => all('layers')),
        E.map(({ named, layers }) => made(layers, 0, { ...named, layers: listLayers(layers) }))
      )
    case 'named':
      return pipe(
        decodeName(place, args),
        E.bindTo('name'),
        E.bind('inner', () => layerAt(walk, `${place}.layer`, args['layer'])),
        E.map(({ name, inner }) => made([inner], 0, { name, layer: inner.layer }))
      )
    case 'residual':
      return pipe(
        all('main'),
        E.bindTo('main'),
        E.bind('shortcut', () => all('shortcut')),
        E.map(({ main, shortcut }) => made([...main, ...shortcut], 1, { main: listLayers(main), shortcut: listLayers(shortcut) }))
      )
    case 'gated':
      return pipe(
        all('main'),
        E.bindTo('main'),
        E.bind('gate', () => all('gate')),
        E.map(({ main, gate }) => made([...main, ...gate], 1, { main: listLayers(main), gate: listLayers(gate) }))
      )
    case 'parallel': {
      const { branches } = args
      return pipe(
        Array.isArray(branches)
          ? E.right<string, unknown[]>(branches)
          : E.left(`${place}.branches is ${formatValue(branches)}, not a list`),
        E.chain((found) =>
          E.traverseArray(([index, one]: [number, unknown]) => list(walk, `${place}.branches[${index}]`, one))([...found.entries()])
        ),
        E.map((lists) => made(lists.flat(), 1, { branches: lists.map(listLayers) }))
      )
    }
    default:
      return undefined
  }
}

type Leaf = keyof OpArguments | 'tile' | 'checkpoint'

/** PyTorch takes the first ones without their names. */
const optionsFault = (op: Leaf, args: unknown): string => {
  const [option] = op === 'checkpoint' ? [] : listKnownOptions(op)
  const remedy = option === undefined ? 'leave them out' : `give an object, such as ${op}({ ${option}: ${formatValue(args)} })`
  return `the options of ${op} are ${formatValue(args)}: ${remedy}`
}

const leaf = (place: string, op: string, args: unknown): Decoded => {
  const codec = Object.hasOwn(names, op) ? names[op] : undefined
  if (codec === undefined) return E.left(`${place}: there is no layer ${formatValue(op)}${suggestion(op, known)}`)
  if (args === undefined) return E.left(`${place}: ${op} is called without its options`)
  if (typeof args !== 'object' || args === null) return E.left(`${place}: ${optionsFault(op as Leaf, args)}`)
  const unknown = op === 'checkpoint' ? undefined : validateOptionNames(op as keyof OpArguments | 'tile', args)
  if (unknown !== undefined) return E.left(`${place}: ${unknown}`)
  return E.bimap(
    (fault: string) => (fault.startsWith(`${op} `) ? `${place}: ${fault}` : `${place}: ${op}: ${fault}`),
    (decoded) => ({ layer: { op, args: decoded } as AnyLayer, count: 1, depth: 1 })
  )(decodeAs(op, codec)(args))
}

const layerAt = (walk: Walk, place: string, value: unknown): Decoded => {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return notALayer(place, value)
  const before = walk.known.get(value)
  if (before !== undefined) return before
  if (walk.around.includes(value)) return E.left(`${place} stands inside itself`)
  if (walk.around.length === maxDepth) return E.left(tooDeep)
  const { op, args } = value as { readonly op?: unknown; readonly args?: unknown }
  if (typeof op !== 'string') return notALayer(place, value)
  const inside: Walk = { ...walk, around: [...walk.around, value] }
  const inner = typeof args === 'object' && args !== null ? held(inside, place, op, args as Held) : undefined
  const decoded = pipe(
    inner ?? leaf(place, op, args),
    E.filterOrElse(
      ({ depth }) => depth <= maxDepth,
      () => tooDeep
    )
  )
  walk.known.set(value, decoded)
  return decoded
}

const shape = strictObject<{ readonly name: string; readonly layers: unknown; readonly input?: readonly number[] }>(
  'a model',
  'field',
  {
    name: predicateCodec<string>('a name', (name) => typeof name === 'string' && name !== ''),
    // `list` says of what is none what it is.
    layers: predicateCodec<unknown>('a list of layers', (layers) => layers !== undefined)
  },
  { input: extentsCodec(4) }
)

/** The sentence on a value that is no object at all. */
export const noModel = 'it holds no model'

/**
 * A model as data, copied, from what a module or JavaScript gives for one; or words on the first
 * place that is wrong. Whether its layers fit each other is for the shape rules.
 */
export const decodeModel = (value: unknown): E.Either<string, Model> =>
  pipe(
    decodeAs('model', shape)(value),
    E.chain(({ layers, ...model }) =>
      pipe(
        list({ known: new Map(), around: [] }, 'layers', layers),
        E.filterOrElse(
          (counted) => sum(counted) <= maxLayers,
          () => `it has more than ${maxLayers} layers`
        ),
        E.map((counted) => ({ ...model, layers: listLayers(counted) }))
      )
    )
  )

/** A model that JavaScript gives, or one that casts may have got past the compiler. */
export const modelCodec: t.Type<Model> = decoderCodec('a model', decodeModel)
