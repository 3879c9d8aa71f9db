import fc from 'fast-check'
import { isRight } from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { withoutDropout } from '../../staging/graph'
import { timelineOf } from '../../staging/lowering/timeline'
import { builtIn } from '../../models'
import { initialise } from '../../src/initialise'
import type { Numbers } from '../../src/exchange'
import { buildGraph, referenceModel, verify } from '../../staging'
import { gradients, stageFor } from '../golden/execute'
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

const swapping = ['vdnn', 'lms', 'lms-hybrid', 'dymem', 'window', 'greedy'] as const

for (const network of ['vgg16', 'darknet19'] as const)
  test(`${network} in float64: at budgets from the least of each strategy to plain's, to the bit as plain`, async () => {
    const model = builtIn[network]!({ classes: 2, head: 'gap' })
    const input = [1, 3, 32, 40] as const
    const built = buildGraph(model, input)
    if (!isRight(built)) throw new Error(built.left.message)
    const weights = new Map(
      built.right.parameters.map(({ name, shape }) => {
        const values = new Float64Array(shape.reduce((product, extent) => product * extent, 1))
        initialise(7, name, shape, values)
        return [name, values]
      })
    )
    const pixels = Float64Array.from({ length: 3 * 32 * 40 }, (_, index) => Math.sin(index * index))
    const execution = { model, input, device: 'reference', threads: 1, weights, batch: { input: pixels, target: [1] } } as const
    const plain = await gradients({ ...execution, strategy: 'plain' })
    const plainPeak = plain.staged.program.peakBytes
    for (const strategy of swapping) {
      const refused = stageFor({ ...execution, strategy, budget: 4096 }, { kind: 'gradients' })
      const least = isRight(refused) ? 0 : refused.left.smallestFeasibleBudgetBytes!
      for (const share of strategy === 'greedy' ? [0, 0.5, 1] : [0]) {
        const swapped = await gradients({ ...execution, strategy, budget: Math.floor(least + share * (plainPeak - least)) })
        if (share === 0) assert.ok(swapped.staged.plan.residence.length > 0, `${strategy} swaps nothing`)
        assert.is(swapped.loss, plain.loss)
        assert.equal([...swapped.tensors.keys()], [...plain.tensors.keys()])
        for (const [name, tensor] of plain.tensors)
          assert.is(Buffer.compare(bytesOf(swapped.tensors.get(name)!), bytesOf(tensor)), 0, `${strategy}: ${name}`)
      }
    }
  })

test.run()
