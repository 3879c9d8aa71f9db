import type { AnyLayer, Layers } from '../../dsl'
import { buildGraph, type Graph, type Node, type Optimizer } from '../../staging'
import { isTrainable } from '../../staging/graph/graph'
import type { Execution } from '../golden/execute'
import { drawsOf, netKind, randomNet, type Draw } from '../staging/random-nets'
import { must } from '../must'
import type { Batch } from './execute'

export const optimizers: readonly Optimizer[] = [
  { kind: 'sgd', momentum: 0, weightDecay: 0 },
  { kind: 'sgd', momentum: 0.9, weightDecay: 1e-2 },
  { kind: 'adam', beta1: 0.9, beta2: 0.99, epsilon: 1e-3, weightDecay: 1e-2 },
  { kind: 'adamw', beta1: 0.9, beta2: 0.99, epsilon: 1e-3, weightDecay: 1e-2 }
]

export interface RandomTraining {
  readonly draw: Draw
  /**
   * The net for a batch of so many rows on the reference device in float64, with its weights; the
   * batch inside is the first.
   */
  readonly execution: (rows: number) => Execution & { readonly graph: Graph }
  readonly batches: (count: number, rows: number) => readonly Batch[]
}

const size = (shape: readonly number[]): number => shape.reduce((product, extent) => product * extent, 1)

/** Layers as they are, blocks' among them, after a change of each. */
const changed = (layers: Layers, change: (one: AnyLayer) => readonly AnyLayer[]): Layers =>
  layers.flatMap((one) => {
    const inside = (list: Layers): Layers => changed(list, change)
    const {
      layers: list,
      main,
      shortcut,
      gate,
      branches
    } = one.args as { readonly [K in 'layers' | 'main' | 'shortcut' | 'gate']?: Layers } & {
      readonly branches?: readonly Layers[]
    }
    return change({
      op: one.op,
      args: {
        ...one.args,
        ...(list && { layers: inside(list) }),
        ...(main && { main: inside(main) }),
        ...(shortcut && { shortcut: inside(shortcut) }),
        ...(gate && { gate: inside(gate) }),
        ...(branches && { branches: branches.map(inside) })
      } as AnyLayer['args']
    })
  })

/** The layers without dropout. */
export const withoutDropout = (layers: Layers): Layers => changed(layers, (one) => (one.op === 'dropout' ? [] : [one]))

/** The layers as they are evaluated: batches are normalised by running statistics. */
export const byRunningStatistics = (layers: Layers): Layers =>
  changed(layers, (one) => [one.op === 'batchNorm' ? { ...one, args: { ...one.args, frozen: true } } : one])

/** Options: what makes a step depend on more than the weights and the row, kept where asked for. */
export interface Kept {
  readonly dropout?: true
  /** A row's result then depends on the rows beside it. */
  readonly batchStatistics?: true
}

/** A random net that is the same function of each row at every step, unless it keeps more. */
export const randomTraining = (seed: number, kept: Kept = {}): RandomTraining => {
  const draw = drawsOf(seed)
  const {
    model: drawn,
    input: [, ...extents]
  } = randomNet(draw, netKind(seed))
  const layers = kept.dropout === true ? (drawn.layers as Layers) : withoutDropout(drawn.layers as Layers)
  const model = { ...drawn, layers: kept.batchStatistics === true ? layers : byRunningStatistics(layers) }
  const values = (shape: readonly number[]): Float64Array => Float64Array.from({ length: size(shape) }, () => draw(-1000, 1000) / 1000)
  const graphOf = (rows: number): Graph => must(buildGraph(model, [rows, ...extents]))
  const batches = (count: number, rows: number): readonly Batch[] => {
    const { nodes } = graphOf(rows)
    const loss = nodes[nodes.length - 1]!
    return Array.from({ length: count }, () => ({
      input: values([rows, ...extents]),
      target: targetOf(loss)
    }))
  }
  const targetOf = ({ op, input }: Node): ArrayLike<number> => {
    const [rows, classes, height, width] = input
    const labels = (count: number): readonly number[] => Array.from({ length: count }, () => draw(0, classes - 1))
    if (op === 'softmaxCrossEntropy') return labels(rows)
    return op === 'pixelCrossEntropy' ? labels(rows * height * width) : values(input)
  }
  const weights = new Map(
    graphOf(2).parameters.map(({ name, role, shape }) => {
      const drawn = values(shape)
      return [name, role === 'runningVariance' ? drawn.map((value) => 0.2 + Math.abs(value)) : drawn]
    })
  )
  const execution = (rows: number) => ({
    model,
    input: [rows, ...extents],
    device: 'reference' as const,
    strategy: 'plain' as const,
    threads: 1,
    seed,
    weights,
    batch: { input: [], target: [] },
    graph: graphOf(rows)
  })
  return { draw, execution, batches }
}

/** Names of what learns. */
export const learnable = ({ parameters }: Graph): readonly string[] => parameters.filter(isTrainable).map(({ name }) => name)

/** Batches behind each other, as one. */
export const joined = (batches: readonly Batch[]): Batch => ({
  input: batches.flatMap(({ input }) => Array.from(input)),
  target: batches.flatMap(({ target }) => Array.from(target))
})

/**
 * Plain arithmetic of torch.optim over all parameters of one list; what a group says stands in
 * `settings`.
 */
export const optimize = (
  optimizer: Optimizer,
  { learningRate, weightDecay, step }: { readonly learningRate: number; readonly weightDecay: number; readonly step: number },
  weights: ArrayLike<number>,
  gradient: ArrayLike<number>,
  state: readonly [Float64Array, Float64Array]
): Float64Array =>
  Float64Array.from(weights, (weight, index) => {
    const slope = gradient[index]! + (optimizer.kind === 'adamw' ? 0 : weightDecay * weight)
    if (optimizer.kind === 'sgd') {
      state[0][index] = step === 0 ? slope : optimizer.momentum * state[0][index]! + slope
      return weight - learningRate * state[0][index]!
    }
    const { beta1, beta2, epsilon, kind } = optimizer
    state[0][index] = beta1 * state[0][index]! + (1 - beta1) * slope
    state[1][index] = beta2 * state[1][index]! + (1 - beta2) * slope * slope
    const [first, second] = [state[0][index]! / (1 - beta1 ** (step + 1)), state[1][index]! / (1 - beta2 ** (step + 1))]
    return weight * (kind === 'adamw' ? 1 - learningRate * weightDecay : 1) - (learningRate * first) / (Math.sqrt(second) + epsilon)
  })

export const norm = (tensors: Iterable<ArrayLike<number>>): number =>
  Math.sqrt([...tensors].reduce((sum, tensor) => sum + Array.from(tensor).reduce((squares, value) => squares + value * value, 0), 0))
