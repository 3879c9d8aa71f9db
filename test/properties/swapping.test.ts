import fc from 'fast-check'
import { isRight } from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { batchNorm, conv2d, globalAvgPool, linear, model, relu, residual, type Model } from '../../dsl'
import { darknet19, vgg16, vgg19 } from '../../models'
import type { Numbers } from '../../src/exchange'
import { initialise } from '../../src/initialise'
import { buildGraph, referenceModel, verify, type Staged, type StrategyName } from '../../staging'
import { withoutDropout } from '../../staging/graph'
import { timelineOf } from '../../staging/lowering/timeline'
import { gradients, must, stageFor, type Execution } from '../golden/execute'
import { randomResidence } from '../staging/random-residence'
import { randomSegments } from '../staging/random-segments'
import { randomExecution } from './random-execution'

const bytesOf = ({ buffer, byteOffset, byteLength }: Numbers): Buffer => Buffer.from(buffer, byteOffset, byteLength)

const runs = { numRuns: Number(process.env.TILEFOLD_PROPERTY_RUNS ?? 200), includeErrorInReport: true }

test('random nets, tiles and stays on the host: verified, every number to the bit, memory on both sides as planned', async () => {
  let stays = 0
  await fc.assert(
    fc.asyncProperty(fc.nat({ max: 2 ** 31 - 1 }), async (seed) => {
      const { draw, graph, ...execution } = randomExecution(seed)
      const segments = randomSegments(draw, graph)
      const lowering = {
        graph: withoutDropout(graph),
        device: referenceModel('float64'),
        objective: { kind: 'gradients' },
        source: { kind: 'float' }
      } as const
      const residence = randomResidence(draw, timelineOf(lowering, segments))
      stays += residence.length
      const [stay, swapped] = [await gradients({ ...execution, segments }), await gradients({ ...execution, segments, residence })]
      const { program, plan } = swapped.staged
      const verified = verify(program)
      assert.ok(isRight(verified), isRight(verified) ? '' : verified.left.message)
      if (isRight(verified)) assert.is(verified.right.hostPeakBytes, program.hostBytes)
      assert.equal(plan.residence, residence)
      assert.is(plan.predicted.peakHostBytes, program.hostBytes)
      assert.is(swapped.loss, stay.loss)
      assert.equal([...swapped.tensors], [...stay.tensors])
      for (const [measured, planned] of [
        [swapped.measuredPeakBytes, program.peakBytes],
        [swapped.measuredHostPeakBytes, program.hostBytes]
      ] as const)
        assert.ok(measured <= planned && measured > planned - 4096, `${measured} bytes were changed, ${planned} were planned`)
      // A byte less on the host is too little.
      if (program.hostBytes > 0) {
        const refused = stageFor({ ...execution, segments, residence, hostBudget: program.hostBytes - 1 }, { kind: 'gradients' })
        assert.ok(!isRight(refused) && refused.left.code === 'budget')
      }
    }),
    runs
  )
  assert.ok(stays > runs.numRuns / 4, `only ${stays} tensors were swapped`)
})

const swapping = ['vdnn', 'lms', 'lms-hybrid', 'dymem', 'window', 'greedy', 'dynprog'] as const

/** Two residual blocks, the second over half the pixels, with statistics of the whole image between all convolutions. */
const branching = (): Model => {
  const convolution = (out: number, s = 1) => [conv2d({ out, k: 3, s, p: 1 }), batchNorm()] as const
  return model({
    name: 'branching',
    layers: [
      ...convolution(8),
      relu,
      residual([...convolution(8), relu, ...convolution(8)]),
      relu,
      residual([...convolution(12, 2), relu, ...convolution(12)], convolution(12, 2)),
      relu,
      ...convolution(12),
      globalAvgPool,
      linear({ out: 2 })
    ]
  })
}

/** A network with weights and one image, in float64 on the reference device or in float32 on the cpu. */
const executionOf = (network: Model, device: 'reference' | 'cpu'): Execution => {
  const input = [1, 3, 32, 40] as const
  const built = buildGraph(network, input)
  if (!isRight(built)) throw new Error(built.left.message)
  const weights = new Map(
    built.right.parameters.map(({ name, role, shape }) => {
      const values = new Float64Array(shape.reduce((product, extent) => product * extent, 1))
      if (role === 'runningVariance' || (role === 'weight' && shape.length === 1)) values.fill(1)
      else initialise(7, name, shape, values)
      return [name, values]
    })
  )
  const pixels = Float64Array.from({ length: 3 * 32 * 40 }, (_, index) => Math.sin(index * index))
  return { model: network, input, device, threads: 1, exactKernels: true, weights, batch: { input: pixels, target: [1] } }
}

/** The smallest budget of a strategy, one half way to plain's peak, and that. */
const budgetsOf = (execution: Execution, strategy: StrategyName, plainPeak: number): readonly number[] => {
  const refused = stageFor({ ...execution, strategy, budget: 4096 }, { kind: 'gradients' })
  const least = isRight(refused) ? 0 : refused.left.smallestFeasibleBudgetBytes!
  return [0, 0.5, 1].map((share) => Math.floor(least + share * (plainPeak - least)))
}

const head = { classes: 2, head: 'gap' } as const
const networks: Readonly<Record<string, () => Model>> = {
  vgg16: () => vgg16(head),
  vgg19: () => vgg19(head),
  darknet19: () => darknet19(head),
  branching
}

for (const [name, network] of Object.entries(networks))
  for (const device of ['reference', 'cpu'] as const)
    test(`${name} on ${device}: every strategy at budgets from its least on: verified, memory as planned, to the bit as plain`, async () => {
      const execution = executionOf(network(), device)
      const plain = await gradients({ ...execution, strategy: 'plain' })
      const decisionsOf = ({ plan: { segments, residence } }: Staged): string => JSON.stringify([segments, residence])
      const ran = new Set([decisionsOf(plain.staged)])
      for (const strategy of swapping)
        for (const [index, budget] of budgetsOf(execution, strategy, plain.staged.program.peakBytes).entries()) {
          const label = `${strategy} in ${budget} bytes`
          const planned = must(stageFor({ ...execution, strategy, budget }, { kind: 'gradients' }))
          const { program, plan } = planned
          if (index === 0) assert.ok(plan.residence.length > 0, `${label} swaps nothing`)
          const verified = verify(program)
          assert.ok(isRight(verified), isRight(verified) ? '' : `${label}: ${verified.left.message}`)
          // Strategies agree where there is little to decide.
          if (ran.has(decisionsOf(planned))) continue
          ran.add(decisionsOf(planned))
          const swapped = await gradients({ ...execution, segments: plan.segments, residence: plan.residence })
          for (const [measured, planned] of [
            [swapped.measuredPeakBytes, program.peakBytes],
            [swapped.measuredHostPeakBytes, program.hostBytes]
          ] as const)
            assert.ok(
              measured <= planned && measured >= planned - 4096,
              `${label}: ${measured} bytes were changed, ${planned} were planned`
            )
          assert.is(swapped.loss, plain.loss, label)
          assert.equal([...swapped.tensors.keys()], [...plain.tensors.keys()])
          for (const [tensor, values] of plain.tensors)
            assert.is(Buffer.compare(bytesOf(swapped.tensors.get(tensor)!), bytesOf(values)), 0, `${label}: ${tensor}`)
        }
    })

test.run()
