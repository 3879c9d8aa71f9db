import { ok } from 'uvu/assert'
import { suite } from 'uvu'
import { type AnyLayer, type Model, model } from '../../dsl'
import { buildGraph, type Segment } from '../../staging'
import { bf16Devices, fastDevices, testsDevice } from '../devices'
import { drawsOf } from '../staging/random-nets'
import { randomSegments } from '../staging/random-segments'
import { must } from '../must'
import { distance, norm } from './errors'
import { type Execution, type Gradients, gradients } from './execute'
import { goldenJson, goldenTensors } from './files'

/** One small net of cases.py. */
interface Case {
  readonly name: string
  readonly input: readonly number[]
  readonly layers: readonly (AnyLayer & { readonly name: string })[]
  readonly loss: number
  /** ||g - g64|| / ||g64|| of PyTorch, by precision and gradient. */
  readonly pytorchErrors: Readonly<Record<'float32' | 'bf16', Readonly<Record<string, number>>>>
}

const { cases } = goldenJson<{ cases: readonly Case[] }>('operations')
const tensors = goldenTensors('operations')

const valuesOf = (golden: Case, name: string): ArrayLike<number> => {
  const values = tensors.get(`${golden.name}/${name}`)
  if (values === undefined) throw new Error(`the golden file has no ${golden.name}/${name}`)
  return values instanceof BigInt64Array ? Array.from(values, Number) : values
}

const modelOf = ({ name, input, layers }: Case): Model => model({ name, input, layers: layers.map(({ op, args }) => ({ op, args })) })

/** Segments and grids drawn by the case's place: none divides anything in particular. */
const tiledOf = (golden: Case): readonly Segment[] => {
  return randomSegments(drawsOf(cases.indexOf(golden)), must(buildGraph(modelOf(golden), golden.input)))
}

const run = (golden: Case, on: Pick<Execution, 'device' | 'precision' | 'strategy' | 'segments'>): Promise<Gradients> => {
  const prefix = `${golden.name}/`
  const names = [...tensors.keys()].filter((key) => key.startsWith(prefix) && /\.(weight|bias)$/.test(key) && !key.includes('/grad.'))
  return gradients({
    ...on,
    model: modelOf(golden),
    weights: new Map(names.map((key) => [key.slice(prefix.length), valuesOf(golden, key.slice(prefix.length))])),
    batch: { input: valuesOf(golden, 'input'), target: valuesOf(golden, 'target') }
  })
}

/** What a gradient may be off by, by norm. */
type Bound = (golden: Case, name: string) => number

/** Every gradient within its bound of PyTorch float64's, and the loss. */
const compare = (golden: Case, { loss, tensors: computed }: Gradients, lossBound: number, boundOf: Bound): void => {
  ok(Math.abs(loss - golden.loss) <= lossBound * Math.abs(golden.loss), `loss ${loss}, PyTorch ${golden.loss}`)
  Object.keys(golden.pytorchErrors.float32).forEach((name) => {
    const exact = valuesOf(golden, name)
    const value = computed.get(name)
    ok(value !== undefined, `${name} was not computed`)
    const error = distance([value], [exact]) / norm([exact])
    const bound = boundOf(golden, name)
    ok(error <= bound, `${name}: relative error ${error}, over ${bound}`)
  })
}

const inFloat32: Bound = ({ pytorchErrors: { float32 } }, name) => Math.max(2 * float32[name]!, 1e-6)
/**
 * One rounding is 2^-9. By so few values, an error of a gradient is large or small by chance: the
 * largest of PyTorch's in the net counts.
 */
const inBf16: Bound = ({ pytorchErrors: { bf16 } }) => Math.max(2 * Math.max(...Object.values(bf16)), 2 ** -8)

const devices = [
  { name: 'reference float64', on: { device: 'reference', precision: 'float64' }, loss: 1e-12, bound: () => 1e-12 },
  { name: 'reference float32', on: { device: 'reference', precision: 'float32' }, loss: 1e-5, bound: inFloat32 },
  ...fastDevices.map((device) => ({ name: device, on: { device }, loss: 1e-5, bound: inFloat32 }) as const),
  ...bf16Devices().map((device) => ({ ...device, loss: 2 ** -8, bound: inBf16 }))
] as const

devices.forEach(({ name, on, loss, bound }) => {
  if (!testsDevice(on.device)) return
  const compared = suite(`PyTorch's gradients: ${name}`)
  cases.forEach((golden) => {
    compared(golden.name, async () => compare(golden, await run(golden, { ...on, strategy: 'plain' }), loss, bound))
    compared(`${golden.name}, tiled`, async () => compare(golden, await run(golden, { ...on, segments: tiledOf(golden) }), loss, bound))
  })
  compared.run()
})
