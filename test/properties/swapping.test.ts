import fc from 'fast-check'
import { isRight } from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { batchNorm, conv2d, globalAvgPool, linear, model, relu, residual, type Model } from '../../dsl'
import { darknet19, vgg16, vgg19 } from '../../models'
import type { Numbers } from '../../native/session/step-io'
import { initialise } from '../../src/weights/initialise'
import { buildGraph, referenceModel, verify, type StrategyName } from '../../staging'
import { createStepGraph } from '../../staging/ops/build-graph'
import { createTimelines } from '../../staging/lowering/cost/timeline'
import { createPlanSearches } from '../../staging/search'
import { decide } from '../../staging/decide'
import { planners } from '../../staging/strategies'
import { gradients, requestFor, stageFor, type Execution } from '../golden/execute'
import { must } from '../must'
import { randomSwapSchedule } from '../staging/random-swap-schedule'
import { randomSegments } from '../staging/random-segments'
import { inSystems } from '../in-systems'
import { propertyRuns } from '../property-runs'
import { narrow } from './narrow'
import { assertClose, randomExecution } from './random-execution'

const bytesOf = ({ buffer, byteOffset, byteLength }: Numbers): Buffer => Buffer.from(buffer, byteOffset, byteLength)

const runs = propertyRuns(120)

test('random nets, tiles and stays on the host: verified, every number to the bit, memory on both sides as planned', async () => {
  let swaps = 0
  await fc.assert(
    fc.asyncProperty(fc.nat({ max: 2 ** 31 - 1 }), async (seed) => {
      const { draw, graph, ...execution } = randomExecution(seed)
      const segments = randomSegments(draw, graph)
      const stepGraph = createStepGraph(graph, { kind: 'gradients' }, { kind: 'float' })
      const swapSchedule = randomSwapSchedule(draw, createTimelines(stepGraph, referenceModel('float64'))(segments))
      swaps += swapSchedule.length
      const [kept, swapped] = [await gradients({ ...execution, segments }), await gradients({ ...execution, segments, swapSchedule })]
      const { program, plan, predicted } = swapped.staged
      const verified = verify(program)
      assert.ok(isRight(verified), isRight(verified) ? '' : verified.left.message)
      if (isRight(verified)) assert.is(verified.right.hostPeakBytes, program.hostBytes)
      assert.equal(plan.swapSchedule, swapSchedule)
      assert.is(predicted.peakHostBytes, program.hostBytes)
      assert.is(swapped.loss, kept.loss)
      assert.equal([...swapped.tensors], [...kept.tensors])
      for (const [measured, planned] of [
        [swapped.measuredPeakBytes, program.peakBytes],
        [swapped.measuredHostPeakBytes, program.hostBytes]
      ] as const)
        assert.ok(measured <= planned && measured > planned - 4096, `${measured} bytes were changed, ${planned} were planned`)
      // A byte less on the host is too little.
      if (program.hostBytes > 0) {
        const refused = stageFor({ ...execution, segments, swapSchedule, hostBudget: program.hostBytes - 1 }, { kind: 'gradients' })
        assert.ok(!isRight(refused) && refused.left.code === 'budget')
      }
    }),
    runs
  )
  assert.ok(swaps > runs.numRuns / 4, `only ${swaps} tensors were swapped`)
})

/** They run kernels as `plain` does; the others sum over tiles. */
const swapping: readonly StrategyName[] = ['vdnn', 'vdnn-conv', 'lms', 'lms-hybrid', 'dymem', 'window', 'greedy', 'dynprog']

/**
 * Two residual blocks, the second over half the pixels, with statistics of the whole image between
 * all convolutions.
 */
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

/**
 * A network with weights and one image, in float64 on the reference device or in float32 on the
 * cpu.
 */
const executionOf = (network: Model, device: 'reference' | 'cpu'): Execution => {
  const input = [1, 3, 32, 36] as const
  const built = must(buildGraph(network, input))
  const weights = new Map(
    built.parameters.map(({ name, role, shape }) => {
      const values = new Float64Array(shape.reduce((product, extent) => product * extent, 1))
      if (role === 'runningVariance' || (role === 'weight' && shape.length === 1)) values.fill(1)
      else initialise(7, name, shape, values)
      return [name, values]
    })
  )
  const pixels = Float64Array.from({ length: 3 * 32 * 36 }, (_, index) => Math.sin(index * index))
  return { model: network, input, device, threads: 1, exactKernels: true, weights, batch: { input: pixels, target: [1] } }
}

const head = { classes: 2, head: 'gap' } as const
/** What a plan decides is how layers follow each other: a quarter of the channels shows it too. */
const sized = (network: Model): Model => (inSystems ? network : narrow(network, 4))
const networks: Readonly<Record<string, () => Model>> = {
  vgg16: () => sized(vgg16(head)),
  vgg19: () => sized(vgg19(head)),
  darknet19: () => sized(darknet19(head)),
  branching
}

/**
 * A chain and a graph with branches on each device are enough: what a plan decides is the same on
 * all of them.
 */
const devicesOf: Readonly<Record<string, readonly ('reference' | 'cpu')[]>> = {
  vgg16: inSystems ? ['reference', 'cpu'] : ['cpu'],
  vgg19: inSystems ? ['reference'] : [],
  darknet19: ['reference'],
  branching: ['reference', 'cpu']
}

for (const [name, network] of Object.entries(networks))
  for (const device of devicesOf[name]!)
    test(`${name} on ${device}: every strategy at budgets from its least on: verified, memory as planned, the numbers of plain`, async () => {
      const execution = executionOf(network(), device)
      const plain = await gradients({ ...execution, strategy: 'plain' })
      const decided = must(decide(requestFor({ ...execution, strategy: 'plain' }, { kind: 'gradients' })))
      const most = decided.plain.peakBytes()
      // Strategies agree where there is little to decide.
      const ran = new Set([JSON.stringify(decided.chosen.plan)])
      for (const strategy of [...planners, 'auto'] as const) {
        const { least, within } = createPlanSearches(decided.graph, decided.device, decided.plain, most).by(strategy)
        const { budget: smallest, lowered } = least()!
        if (swapping.includes(strategy)) assert.ok((lowered.plan.swapSchedule ?? []).length > 0, `${strategy} swaps nothing`)
        for (const share of inSystems ? [0, 0.5, 1] : [0, 0.5]) {
          const label = `${strategy} in ${share} of what is between its least and plain's peak`
          const chosen = within(Math.floor(smallest + share * (most - smallest)))!
          const decisions = JSON.stringify(chosen.plan)
          if (ran.has(decisions)) continue
          ran.add(decisions)
          const { order, segments, swapSchedule = [] } = chosen.plan
          const found = await gradients({ ...execution, order, segments, swapSchedule })
          const { program } = found.staged
          const verified = verify(program)
          assert.ok(isRight(verified), isRight(verified) ? '' : `${label}: ${verified.left.message}`)
          assert.equal([program.peakBytes, program.hostBytes], [chosen.peakBytes(), chosen.hostBytes()], label)
          for (const [measured, planned] of [
            [found.measuredPeakBytes, program.peakBytes],
            [found.measuredHostPeakBytes, program.hostBytes]
          ] as const)
            assert.ok(
              measured <= planned && measured >= planned - 4096,
              `${label}: ${measured} bytes were changed, ${planned} were planned`
            )
          assertClose(found, plain, device === 'reference' ? 1e-12 : 1e-5)
          if (!swapping.includes(strategy)) continue
          assert.is(found.loss, plain.loss, label)
          for (const [tensor, values] of plain.tensors)
            assert.is(Buffer.compare(bytesOf(found.tensors.get(tensor)!), bytesOf(values)), 0, `${label}: ${tensor}`)
        }
      }
    })

test.run()
