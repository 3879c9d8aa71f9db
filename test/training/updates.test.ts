import fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { Optimizer, ParameterGroup, Training } from '../../staging'
import { gradients, type Execution, type Tensors } from '../golden/execute'
import { assertTensorsClose } from '../properties/random-execution'
import { randomSegments } from '../staging/random-segments'
import { propertyRuns } from '../property-runs'
import { runSections, update, type Batch } from './execute'
import { joined, learnable, norm, optimize, optimizers, randomTraining } from './random-training'

const seeds = fc.nat({ max: 2 ** 31 - 1 })
const train = (optimizer: Optimizer, rest: Partial<Training> = {}): Training => ({ kind: 'train', optimizer, ...rest })

/** The updates that a step must make, from the gradients that staging hands out, with the arithmetic of torch.optim and torch.nn.utils written out. */
const byHand = async (
  execution: Execution,
  { optimizer, clipNorm, groups = [] }: Training,
  learningRate: number,
  batches: readonly Batch[]
): Promise<{ readonly weights: Tensors; readonly norms: readonly number[] }> => {
  let weights: Tensors = new Map([...execution.weights].map(([name, values]) => [name, Float64Array.from(values)]))
  const state = new Map([...weights].map(([name, { length }]) => [name, [new Float64Array(length), new Float64Array(length)] as const]))
  const norms: number[] = []
  for (const [step, batch] of batches.entries()) {
    const { tensors } = await gradients({ ...execution, strategy: 'plain', weights, batch })
    const groupOf = (name: string): ParameterGroup | undefined =>
      [...groups]
        .sort((a, b) => b.prefix.length - a.prefix.length)
        .find(({ prefix }) => prefix === '' || `${name}.`.startsWith(`${prefix}.`))
    const learning = [...weights.keys()].filter((name) => tensors.has(`grad.${name}`) && groupOf(name)?.frozen !== true)
    norms.push(norm(learning.map((name) => tensors.get(`grad.${name}`)!)))
    const scale = clipNorm === undefined ? 1 : Math.min(1, clipNorm / (norms[step]! + 1e-6))
    weights = new Map(
      [...weights].map(([name, values]) => {
        if (!learning.includes(name)) return [name, values]
        const { rate = 1, weightDecay = optimizer.weightDecay } = groupOf(name) ?? {}
        const gradient = Float64Array.from(tensors.get(`grad.${name}`)!, (value) => value * scale)
        return [name, optimize(optimizer, { learningRate: learningRate * rate, weightDecay, step }, values, gradient, state.get(name)!)]
      })
    )
  }
  return { weights, norms }
}

const only = (tensors: Tensors, names: Iterable<string>): Tensors => new Map([...names].map((name) => [name, tensors.get(name)!]))

test('three micro-batches of two rows train as one batch of six, in tiles or whole', async () => {
  await fc.assert(
    fc.asyncProperty(seeds, async (seed) => {
      const { draw, execution, batches } = randomTraining(seed)
      const optimizer = optimizers[seed % optimizers.length]!
      const [first, second] = [batches(3, 2), batches(3, 2)]
      const whole = await runSections(execution(6), train(optimizer), [...update(0.1, joined(first)), ...update(0.05, joined(second))])
      const { graph, ...micro } = execution(2)
      for (const decisions of [{}, { strategy: 'chen' as const }, { segments: randomSegments(draw, graph) }]) {
        const actions = [...update(0.1, ...first), ...update(0.05, ...second)]
        const parts = await runSections({ ...micro, ...decisions }, train(optimizer, { accumulate: 3 }), actions)
        assertTensorsClose(parts.tensors, whole.tensors, 1e-12)
        whole.losses.forEach((loss, index) => {
          const sum = parts.losses.slice(3 * index, 3 * index + 3).reduce((total, part) => total + part, 0)
          assert.ok(Math.abs(sum - loss) <= 1e-12 * Math.max(1, Math.abs(loss)), `the losses add up to ${sum}, not ${loss}`)
        })
        assert.ok(parts.measuredPeakBytes <= parts.staged.program.peakBytes)
      }
    }),
    propertyRuns(100)
  )
})

test('gradients are clipped by the norm of all of them, which is handed out, over micro-batches or one, in tiles or whole', async () => {
  await fc.assert(
    fc.asyncProperty(seeds, fc.double({ min: 0.1, max: 2, noNaN: true }), fc.boolean(), async (seed, share, frozen) => {
      const { draw, execution, batches } = randomTraining(seed)
      const { graph, ...micro } = execution(2)
      const optimizer = optimizers[seed % optimizers.length]!
      const parts = [batches(2, 2), batches(2, 2)]
      const groups: readonly ParameterGroup[] =
        frozen && graph.parameters.length > 1 ? [{ prefix: graph.parameters[0]!.name, frozen: true }] : []
      const loose = await byHand(execution(4), train(optimizer, { groups }), 0.1, [joined(parts[0]!)])
      const objective = train(optimizer, { groups, clipNorm: share * loose.norms[0]! || 1 })
      const expected = await byHand(execution(4), objective, 0.1, parts.map(joined))
      for (const segments of [undefined, randomSegments(draw, graph)]) {
        const decisions = segments === undefined ? {} : { segments }
        const actions = parts.flatMap((batch) => update(0.1, ...batch))
        const found = await runSections({ ...micro, ...decisions }, { ...objective, accumulate: 2 }, actions)
        assertTensorsClose(only(found.tensors, expected.weights.keys()), expected.weights, 1e-12)
        found.norms.forEach((value, index) => assert.ok(Math.abs(value - expected.norms[index]!) <= 1e-11 * Math.max(1, value)))
        assert.is(found.norms.length, 2)
      }
      const { graph: four, ...full } = execution(4)
      const inOne = await runSections(
        { ...full, segments: randomSegments(draw, four) },
        objective,
        parts.flatMap((part) => update(0.1, joined(part)))
      )
      assertTensorsClose(only(inOne.tensors, expected.weights.keys()), expected.weights, 1e-12)
    }),
    propertyRuns(100)
  )
})

test("groups' rates and weight decays, and what they freeze, are as updates by hand, in tiles or whole", async () => {
  await fc.assert(
    fc.asyncProperty(seeds, async (seed) => {
      const { draw, execution, batches } = randomTraining(seed)
      const { graph, ...whole } = execution(2)
      const layers = [...new Set(learnable(graph).map((name) => name.replace(/\.[a-z]+$/, '')))]
      const one = layers[draw(0, layers.length - 1)]!
      const groups: ParameterGroup[] = [
        { prefix: '', rate: draw(0, 20) / 10, weightDecay: draw(0, 10) / 100 },
        { prefix: one, rate: draw(1, 20) / 10 },
        { prefix: `${one}.weight`, ...(layers.length > 1 && draw(0, 1) === 1 ? { frozen: true } : { weightDecay: draw(0, 10) / 100 }) }
      ]
      const objective = train(optimizers[seed % optimizers.length]!, { groups })
      const list = batches(2, 2)
      const expected = await byHand(whole, objective, 0.1, list)
      for (const segments of [undefined, randomSegments(draw, graph)]) {
        const actions = list.flatMap((batch) => update(0.1, batch))
        const found = await runSections({ ...whole, ...(segments === undefined ? {} : { segments }) }, objective, actions)
        assertTensorsClose(only(found.tensors, expected.weights.keys()), expected.weights, 1e-12)
      }
    }),
    propertyRuns(100)
  )
})

test.run()
