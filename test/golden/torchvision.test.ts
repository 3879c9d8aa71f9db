import { suite } from 'uvu'
import { ok } from 'uvu/assert'
import { type AnyLayer, type Layers, type Model } from '../../dsl'
import { builtIn } from '../../models'
import { buildGraph, fusedTiledAxes, type Graph, isLearnable, type Parameter, type Segment } from '../../staging'
import { ownedExtent, segmentTiling } from '../../staging/tiling'
import { fastDevices, testsDevice } from '../devices'
import { distance, median, norm } from './errors'
import { type Execution, gradients, must, trainSteps } from './execute'
import { goldenJson, goldenTensors } from './files'
import { hashes, sketch, uniform } from './hashed'
import { sampled } from './sampled'

/** Relative errors; torchvision_nets.py's docstring has the formulas. */
interface Errors {
  readonly loss: number
  readonly gradients: number
  readonly weights: number
}

interface Golden {
  readonly classes: number
  readonly steps: number
  readonly sgd: { readonly lr: number; readonly momentum: number; readonly weight_decay: number }
  readonly networks: readonly {
    readonly name: string
    readonly input: readonly number[]
    readonly seeds: readonly { readonly seed: number; readonly loss: number; readonly pytorchErrors: Readonly<Record<string, Errors>> }[]
  }[]
}

const { classes, steps, sgd, networks } = goldenJson<Golden>('torchvision')
const vectors = goldenTensors('torchvision')
const training = {
  optimizer: { kind: 'sgd', momentum: sgd.momentum, weightDecay: sgd.weight_decay },
  learningRate: sgd.lr,
  steps
} as const

const product = (shape: readonly number[]): number => shape.reduce((all, extent) => all * extent, 1)

/** torchvision_nets.py's drawn(). */
const drawn = (seed: number, { name, shape, role }: Parameter): Float32Array => {
  const [out = 1, , height = 1, width = 1] = shape
  if (shape.length === 1) return new Float32Array(out).fill(role === 'bias' || role === 'runningMean' ? 0 : 1)
  return uniform(`${seed}/${name}`, product(shape), shape.length === 4 ? (2 / (out * height * width)) ** 0.5 : 0.01)
}

/** torchvision_nets.py's labels(). */
const labels = (seed: number, count: number, ofPixels: boolean): readonly number[] => {
  const hash = hashes(`${seed}/target`)
  return Array.from({ length: count }, (_, index) => (ofPixels && hash(index) >>> 29 === 0 ? 255 : hash(index) % classes))
}

/** Dropout draws otherwise than PyTorch, so none is dropped. */
const withoutDropout = (layers: Layers): Layers => layers.map(keepingAll)
const keepingAll = ({ op, args }: AnyLayer): AnyLayer => {
  if (op === 'dropout') return { op, args: { rate: 0 } }
  const inner = Object.entries(args as object).map(([key, value]: readonly [string, unknown]) => {
    if (key === 'layer') return [key, keepingAll(value as AnyLayer)]
    if (key === 'branches') return [key, (value as readonly Layers[]).map(withoutDropout)]
    return [key, ['layers', 'main', 'shortcut'].includes(key) ? withoutDropout(value as Layers) : value]
  })
  return { op, args: Object.fromEntries(inner) as AnyLayer['args'] }
}

/** Segments that begin at normalisations, whose statistics are there by then, each in tiles that do not divide where it can be. */
const cutAtStatistics = (graph: Graph): readonly Segment[] => {
  const starts = graph.nodes.flatMap(({ op }, position) => (position > 0 && op === 'batchNorm' ? [position] : []))
  return [0, ...starts].map((from, index) => {
    const to = starts[index] ?? graph.nodes.length
    const allowed = fusedTiledAxes(graph, { from, to })
    const count = (axis: 'H' | 'W', most: number): number =>
      allowed.includes(axis) ? Math.min(most, ownedExtent(graph.nodes[to - 1]!, axis)) : 1
    const wanted = { B: 1, H: count('H', 3), W: count('W', 2) }
    const grid = segmentTiling(graph, { from, to }, wanted) === undefined ? { B: 1, H: 1, W: 1 } : wanted
    return { from, to, grid, recompute: grid.H * grid.W > 1, reorder: index % 2 === 0 ? 'once' : 'each-tile' }
  })
}

const difference = (values: ArrayLike<number>, others: ArrayLike<number>): Float64Array =>
  Float64Array.from({ length: values.length }, (_, index) => values[index]! - others[index]!)

const devices = fastDevices.filter(testsDevice)

networks.forEach(({ name, input, seeds }) => {
  const compared = suite(`PyTorch's training: ${name}`)
  const made = builtIn[name]!({ classes, head: 'gap' })
  const model: Model = { name, layers: withoutDropout(made.layers) }
  const graph = must(buildGraph(model, input))
  const ofPixels = graph.nodes.at(-1)!.op === 'pixelCrossEntropy'

  const execution = (seed: number): Pick<Execution, 'model' | 'input' | 'weights' | 'batch'> => ({
    model,
    input,
    weights: new Map(graph.parameters.map((parameter) => [parameter.name, drawn(seed, parameter)])),
    batch: {
      input: uniform(`${seed}/input`, product(input), 1),
      target: labels(seed, input[0]! * (ofPixels ? input[2]! * input[3]! : 1), ofPixels)
    }
  })

  const errorsOf = async (seed: number, loss: number, on: Pick<Execution, 'device' | 'strategy' | 'segments'>): Promise<Errors> => {
    const whole = { ...execution(seed), ...on }
    const step = await gradients(whole)
    const learnt = [...step.tensors].filter(([key]) => key.startsWith('grad.'))
    const exact = (kind: string): Float64Array => vectors.get(`${name}/${seed}/${kind}`) as Float64Array
    const running = [...step.tensors.keys()].filter((key) => key.startsWith('after.')).sort()
    running
      .flatMap((key) => sampled(step.tensors.get(key)!, 4))
      .forEach((value, index) => {
        const expected = exact('running')[index]!
        ok(Math.abs(value - expected) <= 1e-5 * Math.max(1, Math.abs(expected)), `${running[index >> 2]}: ${value}, PyTorch ${expected}`)
      })
    const trained = await trainSteps(whole, training)
    const moved = graph.parameters
      .filter(isLearnable)
      .map(({ name: key }) => [key, difference(trained.tensors.get(key)!, whole.weights.get(key)!)] as const)
    const relative = (tensors: readonly (readonly [string, ArrayLike<number>])[], kind: string): number =>
      distance([sketch(new Map(tensors))], [exact(kind)]) / norm([exact(kind)])
    return {
      loss: Math.abs(step.loss - loss),
      gradients: relative(learnt, 'gradients'),
      weights: relative(moved, 'weights')
    }
  }

  devices
    .flatMap((device) => [
      { device, variant: 'untiled', decisions: { strategy: 'plain' } } as const,
      { device, variant: 'tiled', decisions: { segments: cutAtStatistics(graph) } } as const
    ])
    .forEach(({ device, variant, decisions }) =>
      compared(`${device}, ${variant}: the median error is at most twice PyTorch's largest`, async () => {
        const ours: Errors[] = []
        for (const { seed, loss } of seeds) ours.push(await errorsOf(seed, loss, { device, ...decisions }))
        const theirs = seeds.map(({ pytorchErrors }) => Object.values(pytorchErrors))
        ours.forEach((error, index) => {
          const bound = Math.max(1e-5, ...theirs[index]!.map((other) => other.loss))
          ok(error.loss <= bound, `seed ${seeds[index]!.seed}: the loss is off by ${error.loss}, over ${bound}`)
        })
        ;(['gradients', 'weights'] as const).forEach((kind) => {
          const [middle, bound] = [median(ours.map((error) => error[kind])), 2 * Math.max(...theirs.flat().map((error) => error[kind]))]
          const all = ours.map((error) => error[kind].toExponential(2)).join(', ')
          ok(middle <= bound, `${kind}: the median of ${all} is over ${bound.toExponential(2)}`)
        })
      })
    )
  compared.run()
})
