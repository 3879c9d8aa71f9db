import { isRight } from 'fp-ts/Either'
import type { AnyLayer, Model } from '../../dsl'
import { buildGraph, type Graph, type Optimizer } from '../../staging'
import type { Execution } from '../golden/execute'
import { drawsOf, randomNet, type Draw } from '../staging/random-nets'
import type { Batch } from './execute'

export const optimizers: readonly Optimizer[] = [
  { kind: 'sgd', momentum: 0, weightDecay: 0 },
  { kind: 'sgd', momentum: 0.9, weightDecay: 1e-2 },
  { kind: 'adam', beta1: 0.9, beta2: 0.99, epsilon: 1e-3, weightDecay: 1e-2 },
  { kind: 'adamw', beta1: 0.9, beta2: 0.99, epsilon: 1e-3, weightDecay: 1e-2 }
]

export interface RandomTraining {
  readonly draw: Draw
  /** The net for a batch of so many rows on the reference device in float64, with its weights; the batch inside is the first. */
  readonly execution: (rows: number) => Execution & { readonly graph: Graph }
  readonly batches: (count: number, rows: number) => readonly Batch[]
}

const size = (shape: readonly number[]): number => shape.reduce((product, extent) => product * extent, 1)

/** A random net that is the same function at every step, unless it keeps its dropout. */
export const randomTraining = (seed: number, options: { readonly dropout?: true } = {}): RandomTraining => {
  const draw = drawsOf(seed)
  const {
    model: drawn,
    input: [, ...extents]
  } = randomNet(draw)
  const model: Model =
    options.dropout === true ? drawn : { ...drawn, layers: (drawn.layers as readonly AnyLayer[]).filter(({ op }) => op !== 'dropout') }
  const values = (shape: readonly number[]): Float64Array => Float64Array.from({ length: size(shape) }, () => draw(-1000, 1000) / 1000)
  const graphOf = (rows: number): Graph => {
    const built = buildGraph(model, [rows, ...extents])
    if (!isRight(built)) throw new Error(built.left.message)
    return built.right
  }
  const batches = (count: number, rows: number): readonly Batch[] => {
    const { nodes } = graphOf(rows)
    const loss = nodes[nodes.length - 1]!
    return Array.from({ length: count }, () => ({
      input: values([rows, ...extents]),
      target: loss.op === 'softmaxCrossEntropy' ? Array.from({ length: rows }, () => draw(0, loss.input[1] - 1)) : values(loss.input)
    }))
  }
  const weights = new Map(graphOf(1).parameters.map(({ name, shape }) => [name, values(shape)]))
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

/** Batches behind each other, as one. */
export const joined = (batches: readonly Batch[]): Batch => ({
  input: batches.flatMap(({ input }) => Array.from(input)),
  target: batches.flatMap(({ target }) => Array.from(target))
})

/** Plain arithmetic of torch.optim over all parameters of one list; what a group says stands in `settings`. */
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
