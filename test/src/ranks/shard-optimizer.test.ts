/** Ranks of this process that each keep slices of the optimizer state. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { conv2d, globalAvgPool, linear, model, relu } from '../../../dsl'
import { type TrainReport, plan } from '../../../src'
import type { TrainOptions } from '../../../src/option-tables/train-options'
import { must } from '../../must'
import { writeImages } from '../example-images'
import { failureOf, valueOf } from '../outcome'
import { classifierOptions, failuresOf, trainOnRanks } from './rank-trainings'
import { temporaryFolder } from '../temporary-folder'

const folder = temporaryFolder()
const at = (name: string): string => join(folder, name)
const options = (more: Partial<TrainOptions> = {}): TrainOptions =>
  classifierOptions(at('images'))({ device: 'reference', network: '1000GB/s,1ns', optimizer: 'adam', shardOptimizer: true, ...more })

test.before(() => writeImages(at('images'), 6))

const trained = async (size: number, more: Partial<TrainOptions>): Promise<readonly TrainReport[]> =>
  (await trainOnRanks(size, () => options(more))).map(must)

for (const [name, sizes, more] of [
  ['validated, and clipped', [1, 2, 4], { validation: 0.34, clipNorm: 0.5 }],
  ['by momentum', [2], { optimizer: 'sgd', momentum: 0.9 }],
  ['on groups of two that share rows', [2, 4], { shardRows: 2, validation: 0.34 }]
] as const)
  test(`the weights' file has the same bytes as with the whole state on every rank, in less memory: ${name}`, async () => {
    for (const size of sizes) {
      const [whole, sliced] = [at(`whole-${size}`), at(`sliced-${size}`)]
      const [one] = await trained(size, { ...more, shardOptimizer: false, save: whole })
      const reports = await trained(size, { ...more, save: sliced })
      for (const { loss, validations } of reports) assert.equal([loss, validations], [one!.loss, one!.validations])
      assert.ok(readFileSync(sliced).equals(readFileSync(whole)), `other weights on ${size} ranks`)
      if (size > 1) assert.ok(reports[0]!.predictedPeakBytes < one!.predictedPeakBytes)
    }
  })

test('a training goes on, with the same bits, on any number of ranks, with slices of the state or all of it', async () => {
  const [whole, parts] = [at('whole.safetensors'), at('parts.safetensors')]
  await trained(2, { steps: 8, shardOptimizer: false, save: whole })
  for (const [index, [size, shardOptimizer]] of (
    [
      [4, true],
      [2, false],
      [2, true],
      [1, true]
    ] as const
  ).entries())
    await trained(size, { steps: 2 * (index + 1), shardOptimizer, state: at('state'), resume: true, save: parts })
  assert.ok(readFileSync(parts).equals(readFileSync(whole)))
})

test('what stops one rank stops all after the same step, with a state of all slices', async () => {
  const stop = new AbortController()
  const ended = await trainOnRanks(2, (rank) =>
    options({
      steps: 1000,
      state: at('stopped'),
      onStep: ({ step }) => {
        if (rank === 1 && step === 4) stop.abort()
      },
      ...(rank === 1 && { signal: stop.signal })
    })
  )
  const [first] = failuresOf(ended)
  assert.match(first!.message, /^interrupted after (\d+) of 1000 steps; .* holds the state after step \1$/)
  const steps = Number(/after (\d+) of/.exec(first!.message)![1]) + 1
  const [goingOn] = await trained(4, { steps, state: at('stopped'), resume: true, save: at('gone-on') })
  const [through] = await trained(2, { steps, shardOptimizer: false, save: at('through') })
  assert.equal(goingOn!.loss, through!.loss)
  assert.ok(readFileSync(at('gone-on')).equals(readFileSync(at('through'))))
})

test('what is validated before the first step of a resumed training is kept as the best, gathered from all ranks', async () => {
  const kept = { validation: 0.34, steps: 6, state: at('unvalidated') }
  const stop = new AbortController()
  const interrupted = await trainOnRanks(2, () =>
    options({ ...kept, validateEvery: 5, signal: stop.signal, onStep: ({ step }) => void (step === 0 && stop.abort()) })
  )
  assert.match(failuresOf(interrupted)[0]!.message, /holds the state after step 2$/)
  const steps: number[] = []
  const best = at('best.safetensors')
  await trained(2, { ...kept, validateEvery: 2, resume: true, best, onValidation: ({ step }) => void steps.push(step) })
  assert.equal([...new Set(steps)], [2, 4, 6])
  assert.ok(readFileSync(best).length > 0)
})

test('a loss that is not finite ends all ranks, with the same sentence', async () => {
  const failures = failuresOf(
    await trainOnRanks(2, () => options({ optimizer: 'sgd', lr: 1e30, steps: 50, stateEvery: 1, state: at('failed') }))
  )
  assert.match(failures[0]!.message, /^the loss is .* at step/)
  assert.ok(failures[0]!.message.startsWith(failures[1]!.message))
})

test('a training whose whole state fits no rank shards it', async () => {
  const least = async (size: number, shardOptimizer: boolean): Promise<number> =>
    failuresOf(await trainOnRanks(size, () => options({ budget: 1000, shardOptimizer })))[0]!.smallestFeasibleBudgetBytes!
  const [sliced, whole] = [await least(4, true), await least(1, false)]
  assert.ok(sliced < whole, `${sliced} of ${whole} bytes`)
  assert.is(await least(4, false), sliced)
  const reports = await trained(4, { budget: sliced, shardOptimizer: false })
  for (const { loss, predictedPeakBytes } of reports) {
    assert.ok(predictedPeakBytes <= sliced)
    assert.equal(loss, reports[0]!.loss)
  }
})

const alone = model({
  name: 'alone',
  input: [1, 3, 64, 64],
  layers: [conv2d({ out: 32, k: 3, p: 1 }), relu, conv2d({ out: 64, k: 3, p: 1 }), relu, globalAvgPool, linear({ out: 2 })]
})

test('ranks that share the rows of one image shard the optimizer where that is faster', async () => {
  const unlimited = { model: alone, device: 'reference', optimizer: 'adam', ranks: 2, network: '1000GB/s,1ns' } as const
  const planned = (more: object) => valueOf(plan({ ...unlimited, ...more }))
  const { smallestFeasibleBudgetBytes } = await failureOf(plan({ ...unlimited, budget: 1000 }))
  const budgets = [1, 1.1, 1.3, 1.6, 2, 4].map((times) => Math.ceil(smallestFeasibleBudgetBytes! * times))
  const reports = await Promise.all(budgets.map((budget) => planned({ budget })))
  for (const [index, { ranks, predictedStepMs }] of reports.entries()) {
    assert.is(ranks!.mesh.shardsOptimizer, true)
    assert.ok(index === 0 || predictedStepMs <= reports[index - 1]!.predictedStepMs)
  }
  const { plainPeakBytes } = await planned({})
  assert.is((await planned({ budget: plainPeakBytes })).ranks!.mesh.shardsOptimizer, undefined)
  const peaksOf = async (shardOptimizer: boolean): Promise<readonly number[]> => {
    const rows = { model: alone, accumulate: 1, steps: 1, shardRows: true, budget: budgets.at(-1)!, shardOptimizer }
    return (await trained(2, rows)).map(({ predictedPeakBytes }) => predictedPeakBytes)
  }
  assert.equal(await peaksOf(false), await peaksOf(true))
})

test('a plan for ranks shards the optimizer where it is asked to, and where nothing else fits', async () => {
  const heavy = model({
    name: 'heavy',
    input: [1, 3, 16, 16],
    layers: [conv2d({ out: 64, k: 3, p: 1 }), relu, conv2d({ out: 64, k: 3, p: 1 }), globalAvgPool, linear({ out: 2 })]
  })
  const planned = (more: object) =>
    valueOf(plan({ model: heavy, device: 'reference', optimizer: 'adam', accumulate: 4, ranks: 4, ...more }))
  const [whole, sliced] = [await planned({}), await planned({ shardOptimizer: true })]
  assert.is(whole.ranks!.mesh.shardsOptimizer, undefined)
  assert.is(sliced.ranks!.mesh.shardsOptimizer, true)
  assert.ok(sliced.peakDeviceBytes < whole.peakDeviceBytes)
  const fitting = await planned({ budget: sliced.peakDeviceBytes, strategy: 'plain' })
  assert.is(fitting.ranks!.mesh.shardsOptimizer, true)
})

test.run()
