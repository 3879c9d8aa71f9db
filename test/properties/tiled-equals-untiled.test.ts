import fc from 'fast-check'
import { isRight } from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { buildGraph, type Graph, type Optimizer, type Segment } from '../../staging'
import { gradients, trainSteps, type Execution, type Tensors } from '../golden/execute'
import { drawsOf, randomNet, type Draw } from '../staging/random-nets'
import { randomSegments } from '../staging/random-segments'

const values = (draw: Draw, count: number): Float64Array => Float64Array.from({ length: count }, () => draw(-1000, 1000) / 1000)

const product = (shape: readonly number[]): number => shape.reduce((all, extent) => all * extent, 1)

interface Case {
  readonly execution: Execution
  readonly segments: readonly Segment[]
}

const randomCase = (seed: number): Case => {
  const draw = drawsOf(seed)
  const { model, input } = randomNet(draw)
  const built = buildGraph(model, input)
  if (!isRight(built)) throw new Error(built.left.message)
  const graph: Graph = built.right
  const loss = graph.nodes[graph.nodes.length - 1]!
  const target =
    loss.op === 'softmaxCrossEntropy'
      ? Array.from({ length: loss.input[0] }, () => draw(0, loss.input[1] - 1))
      : values(draw, product(loss.input))
  const weights = new Map(
    graph.nodes.flatMap(({ parameters }) => parameters.map(({ name, shape }) => [name, values(draw, product(shape))]))
  )
  return {
    execution: { model, input, device: 'reference', threads: 1, weights, batch: { input: values(draw, product(input)), target }, seed },
    segments: randomSegments(draw, graph)
  }
}

const norm = (numbers: ArrayLike<number>): number => Math.sqrt(Array.from(numbers).reduce((sum, value) => sum + value * value, 0))

/** ‖Δ‖ ≤ tolerance · max(‖ref‖, largest tensor's norm), for every tensor. */
const assertEqual = (actual: Tensors, expected: Tensors, tolerance: number): void => {
  assert.equal([...actual.keys()], [...expected.keys()])
  const largest = Math.max(...[...expected.values()].map((tensor) => norm(tensor)))
  for (const [name, reference] of expected) {
    const tensor = actual.get(name)!
    const difference = norm(Array.from(reference as ArrayLike<number>, (value, index) => value - tensor[index]!))
    assert.ok(difference <= tolerance * Math.max(norm(reference), largest), `${name} differs by ${difference}`)
  }
}

const optimizers: readonly Optimizer[] = [
  { kind: 'sgd', momentum: 0.9, weightDecay: 1e-3 },
  { kind: 'adam', beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0 },
  { kind: 'adamw', beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 1e-2 }
]

test('random nets, sizes and grids: loss, gradients and optimizer steps of tiles equal the untiled ones', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat({ max: 2 ** 31 - 1 }), async (seed) => {
      const { execution, segments } = randomCase(seed)
      const plain = await gradients({ ...execution, strategy: 'plain' })
      const tiled = await gradients({ ...execution, segments })
      assert.ok(Math.abs(tiled.loss - plain.loss) <= 1e-12 * Math.max(1, Math.abs(plain.loss)), `loss ${tiled.loss} is not ${plain.loss}`)
      assertEqual(tiled.tensors, plain.tensors, 1e-12)
      assert.ok(tiled.measuredPeakBytes <= tiled.staged.program.peakBytes)
      const searched = await gradients(execution)
      assert.ok(Math.abs(searched.loss - plain.loss) <= 1e-12 * Math.max(1, Math.abs(plain.loss)))
      assertEqual(searched.tensors, plain.tensors, 1e-12)

      const step = { optimizer: optimizers[seed % optimizers.length]!, learningRate: 0.01, steps: 1 }
      const [plainStep, tiledStep] = [
        await trainSteps({ ...execution, strategy: 'plain' }, step),
        await trainSteps({ ...execution, segments }, step)
      ]
      assertEqual(tiledStep.tensors, plainStep.tensors, 1e-12)
    }),
    { numRuns: Number(process.env.TILEFOLD_PROPERTY_RUNS ?? 300), includeErrorInReport: true }
  )
})

test('random nets, sizes and grids: the cpu device computes what the reference device does, up to float32 rounding', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat({ max: 2 ** 31 - 1 }), async (seed) => {
      const { execution, segments } = randomCase(seed)
      const exact = await gradients({ ...execution, strategy: 'plain' })
      for (const decisions of [{ strategy: 'plain' as const }, { segments }]) {
        const rounded = await gradients({ ...execution, device: 'cpu', ...decisions })
        assert.ok(Math.abs(rounded.loss - exact.loss) <= 1e-5 * Math.max(1, Math.abs(exact.loss)))
        assertEqual(rounded.tensors, exact.tensors, 1e-4)
        assert.ok(rounded.measuredPeakBytes <= rounded.staged.program.peakBytes)
      }
    }),
    // A fixed seed: an input within rounding of a kink would flip it, and fail for no fault of ours.
    { numRuns: Number(process.env.TILEFOLD_PROPERTY_RUNS ?? 300), includeErrorInReport: true, seed: 2026 }
  )
})

test.run()
