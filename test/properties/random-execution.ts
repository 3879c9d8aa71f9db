import * as assert from 'uvu/assert'
import type { Model } from '../../dsl'
import { initialise } from '../../src/weights/initialise'
import { buildGraph, type Graph, type Node } from '../../staging'
import { gradients, type Execution, type Gradients, type Tensors } from '../golden/execute'
import { drawsOf, netKind, randomNet, type Draw, type RandomNet } from '../staging/random-nets'
import { randomSegments } from '../staging/random-segments'
import { must } from '../must'

const product = (shape: readonly number[]): number => shape.reduce((all, extent) => all * extent, 1)

const values = (draw: Draw, shape: readonly number[]): Float64Array =>
  Float64Array.from({ length: product(shape) }, () => draw(-1000, 1000) / 1000)

/**
 * A random net on the reference device in float64, with weights and a batch; its graph, and the
 * draws that are left.
 */
export interface RandomExecution extends Execution {
  readonly graph: Graph
  readonly draw: Draw
}

export const randomExecution = (seed: number, kind = netKind(seed)): RandomExecution => {
  const draw = drawsOf(seed)
  return executionOf(draw, randomNet(draw, kind), targetOf, seed)
}

const targetOf = (draw: Draw, { op, input }: Node): ArrayLike<number> => {
  const [rows, classes, height, width] = input
  const labels = (count: number): readonly number[] => Array.from({ length: count }, () => draw(0, classes - 1))
  return op === 'softmaxCrossEntropy' ? labels(rows) : op === 'pixelCrossEntropy' ? labels(rows * height * width) : values(draw, input)
}

/** A net with random weights and a batch, of which `drawTarget` draws what the loss takes. */
export const executionOf = (
  draw: Draw,
  { model, input }: RandomNet,
  drawTarget: (draw: Draw, loss: Node) => ArrayLike<number>,
  seed = 0
): RandomExecution => {
  const graph = must(buildGraph(model, input))
  const { nodes, parameters } = graph
  const target = drawTarget(draw, nodes[nodes.length - 1]!)
  const weights = new Map(
    parameters.map(({ name, role, shape }) => {
      const drawn = values(draw, shape)
      return [name, role === 'runningVariance' ? drawn.map((value) => 0.2 + Math.abs(value)) : drawn]
    })
  )
  const batch = { input: values(draw, input), target }
  return { model, input, device: 'reference', threads: 1, weights, batch, seed, graph, draw }
}

/** A net for images of one class of two, with initial weights, on an image of a sine's values. */
export const initialisedExecution = <D extends Execution['device']>(model: Model, input: readonly number[], device: D) => {
  const weights = new Map(
    must(buildGraph(model, input)).parameters.map(({ name, shape }) => {
      const initial = new Float64Array(product(shape))
      initialise(7, name, shape, initial)
      return [name, initial]
    })
  )
  const pixels = Float64Array.from({ length: product(input) }, (_, index) => Math.sin(index * index))
  return { model, input, device, threads: 1, weights, batch: { input: pixels, target: [1] } } as const
}

export const norm = (numbers: ArrayLike<number>): number => distance(numbers, { length: 0 })

/** Of two tensors, the second 0 where it ends: a loop, since networks have millions of weights. */
const distance = (left: ArrayLike<number>, right: ArrayLike<number>): number => {
  let sum = 0
  for (let index = 0; index < left.length; index++) {
    const difference = left[index]! - (right[index] ?? 0)
    sum += difference * difference
  }
  return Math.sqrt(sum)
}

/**
 * Of values and weights of order one: gradients that are all below it (a mean over what is
 * normalised) are nothing but rounding.
 */
const rounding = 1e-10
/** They are compared as if the largest had this norm. */
const normOfRounding = 1e-2

/**
 * ‖Δ‖ ≤ tolerance · max(‖ref‖, largest gradient's norm, or where there are no gradients largest
 * tensor's), for every tensor.
 */
export const assertTensorsClose = (actual: Tensors, expected: Tensors, tolerance: number): void => {
  assert.equal([...actual.keys()], [...expected.keys()])
  const gradients = [...expected].filter(([name]) => name.startsWith('grad.'))
  const most = Math.max(...(gradients.length > 0 ? gradients : [...expected]).map(([, tensor]) => norm(tensor)))
  const largest = most > rounding ? most : normOfRounding
  for (const [name, reference] of expected) {
    const tensor = actual.get(name)!
    assert.is(tensor.length, reference.length, name)
    const difference = distance(reference, tensor)
    assert.ok(difference <= tolerance * Math.max(norm(reference), largest), `${name} differs by ${difference}`)
  }
}

/**
 * Fails unless every tensor is close, as assertTensorsClose has it, and the loss is within
 * `lossTolerance`, relative to itself or 1.
 */
export const assertClose = (actual: Gradients, expected: Gradients, tolerance: number, lossTolerance = tolerance): void => {
  const { loss } = expected
  assert.ok(Math.abs(actual.loss - loss) <= lossTolerance * Math.max(1, Math.abs(loss)), `loss ${actual.loss} is not ${loss}`)
  assertTensorsClose(actual.tensors, expected.tensors, tolerance)
}

/**
 * Fails unless a device computes what the reference device does in float64, up to rounding, plain
 * and in random segments, each within the bytes that it was planned for.
 */
export const assertAsReference = async ({ draw, graph, ...execution }: RandomExecution, device: Execution['device']): Promise<void> => {
  const segments = randomSegments(draw, graph)
  const exact = await gradients({ ...execution, strategy: 'plain' })
  for (const decisions of [{ strategy: 'plain' as const }, { segments }]) {
    const rounded = await gradients({ ...execution, device, ...decisions })
    assertClose(rounded, exact, 1e-4, 1e-5)
    assert.ok(rounded.measuredPeakBytes <= rounded.staged.program.peakBytes)
  }
}
