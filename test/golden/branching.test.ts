import { createHash } from 'node:crypto'
import { suite } from 'uvu'
import { equal, ok } from 'uvu/assert'
import { type AnyLayer, type Model, model } from '../../dsl'
import { randomStream } from '../../src/numbers/random'
import { buildGraph, type Graph } from '../../staging'
import { fastDevices, testsDevice } from '../devices'
import { drawsOf } from '../staging/random-nets'
import { randomSegments } from '../staging/random-segments'
import { must } from '../must'
import { distance, norm } from './errors'
import { type Execution, type Gradients, gradients } from './execute'
import { goldenJson, goldenTensors } from './files'
import { withFunctions } from './functions'
import { sampled } from './sampled'

/** One small net of branching_cases.py; branching.py's docstring says what is known of it. */
interface Case {
  readonly name: string
  readonly input: readonly number[]
  readonly layers: readonly AnyLayer[]
  readonly loss: number
  readonly drawn: readonly string[]
  readonly sha256: string
  readonly norms: Readonly<Record<string, number>>
  readonly pytorchErrors: Readonly<Record<string, number>>
}

const { seed, cases } = goldenJson<{ readonly seed: number; readonly cases: readonly Case[] }>('branching')
const samples = goldenTensors('branching')

const product = (shape: readonly number[]): number => shape.reduce((all, extent) => all * extent, 1)

/** draw.py's normal(), rounded to float32. */
const normal = (name: string, count: number, deviation: number): Float32Array => {
  const values = new Float32Array(count)
  randomStream(seed, name).fillNormal(values, deviation)
  return values
}

/** draw.py's spread(). */
const spread = (name: string, shape: readonly number[]): Float32Array => {
  const count = product(shape)
  if (name.endsWith('.running_var'))
    return Float32Array.from({ length: count }, (_, index) => 0.5 + randomStream(seed, name).uniform(index))
  if (shape.length > 1) return normal(name, count, product(shape.slice(1)) ** -0.5)
  const around = name.endsWith('.weight') ? 1 : 0
  return normal(name, count, 0.3).map((value) => around + value)
}

/** draw.py's labels(). */
const labels = (prefix: string, count: number, classes: number, ignored?: number): readonly number[] =>
  Array.from({ length: count }, (_, index) =>
    ignored !== undefined && randomStream(seed, `${prefix}ignored`).uniform(index) < 0.2
      ? ignored
      : Math.floor(randomStream(seed, `${prefix}target`).uniform(index) * classes)
  )

const targetOf = (prefix: string, { nodes }: Graph): ArrayLike<number> => {
  const loss = nodes.at(-1)!
  const [images, classes, height, width] = loss.input
  if (loss.op === 'pixelCrossEntropy') return labels(prefix, images * height * width, classes, loss.args.ignore ?? 255)
  return loss.op === 'softmaxCrossEntropy' ? labels(prefix, images, classes) : normal(`${prefix}target`, product(loss.input), 1)
}

interface Drawn {
  readonly model: Model
  readonly graph: Graph
  readonly weights: ReadonlyMap<string, Float32Array>
  readonly batch: { readonly input: Float32Array; readonly target: ArrayLike<number> }
}

const drawn = ({ name, input, layers }: Case): Drawn => {
  const net = model({ name, input, layers: withFunctions(layers) })
  const graph = must(buildGraph(net, input))
  return {
    model: net,
    graph,
    weights: new Map(graph.parameters.map((parameter) => [parameter.name, spread(`${name}/${parameter.name}`, parameter.shape)])),
    batch: { input: normal(`${name}/input`, product(input), 1), target: targetOf(`${name}/`, graph) }
  }
}

const digest = (golden: Case, { weights, batch: { input, target } }: Drawn): string => {
  const hash = createHash('sha256')
  const whole = target instanceof Float32Array ? target : BigInt64Array.from(Array.from(target), BigInt)
  golden.drawn.forEach((name) => hash.update(name === 'input' ? input : name === 'target' ? whole : weights.get(name)!))
  return hash.digest('hex')
}

/**
 * Untiled, and in segments and grids drawn by the case's place: none divides anything in
 * particular.
 */
const decisionsOf = (golden: Case, graph: Graph): Readonly<Record<string, Pick<Execution, 'strategy' | 'segments'>>> => ({
  untiled: { strategy: 'plain' },
  tiled: { segments: randomSegments(drawsOf(cases.indexOf(golden)), graph) }
})

const closeLoss = ({ loss }: Gradients, golden: Case, bound: number): void =>
  ok(Math.abs(loss - golden.loss) <= bound * Math.abs(golden.loss), `loss ${loss}, PyTorch ${golden.loss}`)

/**
 * Norm and samples of every gradient and running statistic, within 1e-11 of the tensor's norm or
 * root mean square.
 */
const matchesPytorch = (golden: Case, computed: Gradients): void => {
  closeLoss(computed, golden, 1e-12)
  Object.entries(golden.norms).forEach(([name, length]) => {
    const values = computed.tensors.get(name)
    ok(values !== undefined, `${name} was not computed`)
    ok(Math.abs(norm([values]) - length) <= 1e-11 * length, `${name}: norm ${norm([values])}, PyTorch ${length}`)
    const expected = samples.get(`${golden.name}/${name}`) as Float64Array
    const error = distance([sampled(values)], [expected]) / Math.sqrt(expected.length)
    ok(error <= 1e-11 * (length / Math.sqrt(values.length)), `${name}: samples are off by ${error}`)
  })
}

/** Per tensor at most twice the error of PyTorch's float32, or 1e-6. */
const asCloseAsPytorch = (golden: Case, computed: Gradients, exact: Gradients): void => {
  closeLoss(computed, golden, 1e-5)
  Object.entries(golden.pytorchErrors).forEach(([name, pytorchError]) => {
    const error = distance([computed.tensors.get(name)!], [exact.tensors.get(name)!]) / norm([exact.tensors.get(name)!])
    const bound = name.startsWith('after.') ? 1e-5 : Math.max(2 * pytorchError, 1e-6)
    ok(error <= bound, `${name}: relative error ${error}, over ${bound} (PyTorch float32 has ${pytorchError})`)
  })
}

const devices = fastDevices.filter(testsDevice)

const compared = suite("PyTorch's gradients of nets that branch")
cases.forEach((golden) => {
  const net = drawn(golden)
  const execution = { model: net.model, weights: net.weights, batch: net.batch }
  const exactly = { ...execution, device: 'reference', precision: 'float64' } as const
  compared(`${golden.name}: drawn as branching.py draws`, () => equal(digest(golden, net), golden.sha256))
  Object.entries(decisionsOf(golden, net.graph)).forEach(([variant, decisions]) => {
    compared(`${golden.name}, ${variant}: reference float64`, async () =>
      matchesPytorch(golden, await gradients({ ...exactly, ...decisions }))
    )
    const others = [{ device: 'reference', precision: 'float32' }, ...devices.map((device) => ({ device }))] as const
    others.forEach((on) =>
      compared(`${golden.name}, ${variant}: ${on.device} float32`, async () =>
        asCloseAsPytorch(golden, await gradients({ ...execution, ...on, ...decisions }), await gradients({ ...exactly, strategy: 'plain' }))
      )
    )
  })
})
compared.run()
