/** Training on several ranks of this process that share the rows of each image. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { conv2d, globalAvgPool, linear, maxPool2d, model, relu } from '../../../dsl'
import { train } from '../../../src/commands/train'
import type { TrainOptions } from '../../../src/option-tables/train-options'
import { openTensorFile, readTensor } from '../../../src/weights/safetensors'
import { must } from '../../must'
import { writeImages, writeMasks } from '../example-images'
import { assertCloseLosses, classifier, classifierOptions, failuresOf, trainOnRanks } from './rank-trainings'
import { temporaryFolder } from '../temporary-folder'

const folder = temporaryFolder()
const at = (name: string): string => join(folder, name)
const options = classifierOptions(at('images'))

test.before(async () => {
  await writeImages(at('images'), 6)
  mkdirSync(at('masks'))
  await writeMasks(at('masks'))
})

const rowClassifier = model({
  name: 'rows',
  input: [1, 3, 64, 32],
  layers: [
    conv2d({ out: 4, k: 3, p: 1 }),
    relu,
    maxPool2d({ k: 2 }),
    conv2d({ out: 8, k: 3, p: 1 }),
    relu,
    globalAvgPool,
    linear({ out: 2 })
  ]
})

/** So fast that small images are shared too. */
const network = '1000GB/s,1ns'

const rowOptions = (more: Partial<TrainOptions> = {}): TrainOptions =>
  options({ model: rowClassifier, device: 'reference', accumulate: 2, budget: '60%', clipNorm: 0.5, network, ...more })

const rowSegmenter = model({
  name: 'pixels',
  input: [1, 3, 24, 16],
  layers: [
    conv2d({ out: 8, k: 3, p: 1 }),
    relu,
    maxPool2d({ k: 3, s: 1, p: 1 }),
    conv2d({ out: 8, k: 5, p: 2 }),
    relu,
    conv2d({ out: 3, k: 1 })
  ]
})

test('ranks that share rows train as one process does, in a part of its memory', async () => {
  const one = must(await train(rowOptions({ steps: 4 }))())
  for (const size of [2, 3, 4]) {
    const reports = (await trainOnRanks(size, () => rowOptions({ steps: 4, shardRows: true }))).map(must)
    for (const { loss, predictedPeakBytes } of reports) {
      assert.equal(loss, reports[0]!.loss)
      assertCloseLosses(loss, one.loss)
      assert.ok(predictedPeakBytes < one.predictedPeakBytes, `${predictedPeakBytes} is not less than ${one.predictedPeakBytes}`)
    }
  }
})

test('an image trains on ranks within a budget that nothing fits on one process', async () => {
  // Statistics are of all rows, so that one process keeps what it normalises.
  const large = { model: classifier, input: [1, 3, 256, 64], steps: 2 } as const
  const budget = 700_000
  const [refused] = failuresOf([await train(rowOptions({ ...large, budget }))()])
  assert.match(
    refused!.message,
    /^classifier on 1x3x256x64 does not fit the budget of 700000 bytes: strategy auto needs at least \d{7} bytes .*; raise --budget/
  )
  const one = must(await train(rowOptions({ ...large, budget: '100%' }))())
  const reports = (await trainOnRanks(4, () => rowOptions({ ...large, budget, shardRows: true }))).map(must)
  for (const { loss, predictedPeakBytes, peakDeviceBytes } of reports) {
    assertCloseLosses(loss, one.loss)
    assert.ok(predictedPeakBytes <= budget && peakDeviceBytes <= budget, `${predictedPeakBytes} are planned, ${peakDeviceBytes} taken`)
  }
})

test('ranks train in less memory than the whole input takes, by a plan without a budget', async () => {
  const layers = [conv2d({ out: 2, k: 8, s: 8 }), relu, globalAvgPool, linear({ out: 2 })] as const
  const thin = model({ name: 'thin', input: [1, 3, 256, 64], layers })
  const free = (shardRows: boolean): TrainOptions => options({ model: thin, device: 'reference', accumulate: 2, network, shardRows })
  const one = must(await train(free(false))())
  for (const { loss, predictedPeakBytes } of (await trainOnRanks(4, () => free(true))).map(must)) {
    assertCloseLosses(loss, one.loss)
    assert.ok(predictedPeakBytes < 8 * 3 * 256 * 64, `${predictedPeakBytes}`)
  }
})

const unequalRows = model({
  name: 'unequal',
  input: [1, 3, 37, 16],
  layers: [conv2d({ out: 4, k: 3, p: 1 }), relu, conv2d({ out: 8, k: 3, p: 1 }), relu, globalAvgPool, linear({ out: 2 })]
})

test('a budget trains that fits the rank of most rows', async () => {
  // Of 37 rows the first rank has 19 and the second 18, whose plan of 68416 bytes needs 71360 on
  // the first.
  const reports = (await trainOnRanks(2, () => rowOptions({ model: unequalRows, steps: 1, budget: 70_000, shardRows: true }))).map(must)
  for (const { predictedPeakBytes } of reports) assert.ok(predictedPeakBytes <= 70_000, `${predictedPeakBytes}`)
})

test('a plan that does not fit another rank is followed by one for that rank', async () => {
  // Of 13 rows the first rank has 7. 88 % of what the plain step of the second one takes is less
  // than its part of the first one's plan.
  const layers = [conv2d({ out: 8, k: 2, p: 1 }), relu, conv2d({ out: 8, k: 4, p: 1 }), relu, conv2d({ out: 3, k: 1 })] as const
  const few = model({ name: 'few', input: [1, 3, 13, 16], layers })
  const more = { model: few, data: at('masks/masks.csv'), steps: 2 }
  const one = must(await train(rowOptions({ ...more, budget: '100%' }))())
  const reports = (await trainOnRanks(2, () => rowOptions({ ...more, budget: '88%', shardRows: true }))).map(must)
  for (const { loss } of reports) assertCloseLosses(loss, one.loss)
})

test('ranks that share images, and rows of each, train as one process does', async () => {
  const batched = { model: rowClassifier, input: [4, 3, 64, 32], steps: 4, budget: '100%' }
  const one = must(await train(rowOptions(batched))())
  for (const [size, sharing] of [
    [2, { shardImages: true }],
    [4, { shardImages: true }],
    [4, { shardImages: true, shardRows: 2 }],
    [4, { shardImages: 2, accumulate: 2 }],
    [8, { shardImages: 2, shardRows: 2 }]
  ] as const) {
    const reports = (await trainOnRanks(size, () => rowOptions({ ...batched, ...sharing }))).map(must)
    for (const { loss } of reports) assertCloseLosses(loss, one.loss)
  }
})

test('ranks that share images normalise by statistics of all of them, as one process does, and validate', async () => {
  const more = { device: 'reference', input: [4, 3, 64, 64], steps: 3, network, validation: 0.34 } as const
  const one = must(await train(options(more))())
  const validated = (validation: { readonly loss: number }): number => validation.loss
  for (const sharing of [{ shardImages: true }, { shardImages: 2, shardRows: true }] as const) {
    const reports = (await trainOnRanks(4, () => options({ ...more, ...sharing }))).map(must)
    for (const { loss, validations } of reports) {
      assertCloseLosses(loss, one.loss)
      assertCloseLosses(validations!.map(validated), one.validations!.map(validated))
    }
  }
})

test('ranks that would plan otherwise are refused, with what differs', async () => {
  for (const [more, what] of [
    [{ budget: '70%' }, 'another --budget than rank 0'],
    [{ shardRows: false, accumulate: 2 }, '--shard-rows false where rank 0 has true'],
    [{ accumulate: 4 }, '--accumulate 4 where rank 0 has 2'],
    [{ optimizer: 'adam' }, '--optimizer adam where rank 0 has sgd']
  ] as const) {
    const of = (rank: number) => rowOptions({ steps: 1, shardRows: true, input: [2, 3, 64, 32], ...(rank === 1 && more) })
    for (const { message } of failuresOf(await trainOnRanks(2, of)))
      assert.is(message, `rank 1 has ${what}: start all ranks with the same options, data and build`)
  }
})

test('ranks that share rows train within a budget of each on the host', async () => {
  const one = must(await train(rowOptions({ steps: 3, budget: '100%' }))())
  const reports = (await trainOnRanks(2, () => rowOptions({ steps: 3, hostBudget: '1MB', shardRows: true }))).map(must)
  for (const { loss } of reports) assertCloseLosses(loss, one.loss)
})

test('ranks that share rows train on masks as one process does', async () => {
  const more = { model: rowSegmenter, data: at('masks/masks.csv'), classWeights: 'balanced', steps: 3, budget: '100%' }
  const one = must(await train(rowOptions(more))())
  for (const size of [2, 4]) {
    const [report] = (await trainOnRanks(size, () => rowOptions({ ...more, shardRows: true }))).map(must)
    assertCloseLosses(report!.loss, one.loss)
  }
})

/** All values of a file of weights, by name. */
const weightsIn = async (path: string): Promise<ReadonlyMap<string, Float64Array>> => {
  const file = must(await openTensorFile(path)())
  const weights = new Map<string, Float64Array>()
  for (const [name, { shape }] of file.tensors) {
    const values = new Float64Array(shape.reduce((product, extent) => product * extent, 1))
    must(await readTensor(file, name, values)())
    weights.set(name, values)
  }
  return weights
}

test('ranks that share rows train on losses of overlaps as one process does', async () => {
  for (const loss of ['dice', '0.5*tversky:alpha=0.7,beta=0.3+cross-entropy', 'dice:smooth=0.5+binary-focal']) {
    const more = { model: rowSegmenter, data: at('masks/masks.csv'), loss, steps: 3, budget: '100%' } as const
    const one = must(await train(rowOptions(more))())
    for (const size of [2, 3]) {
      const reports = (await trainOnRanks(size, () => rowOptions({ ...more, shardRows: true }))).map(must)
      for (const report of reports) assertCloseLosses(report.loss, one.loss)
    }
  }
})

test('ranks that share rows normalise by statistics of all rows, as one process does, running statistics too', async () => {
  const save = (name: string): TrainOptions => options({ device: 'reference', accumulate: 2, steps: 4, network, save: at(name) })
  const one = must(await train(save('one.safetensors'))())
  const whole = await weightsIn(at('one.safetensors'))
  for (const size of [2, 3]) {
    const name = `rows-${size}.safetensors`
    const reports = (await trainOnRanks(size, () => ({ ...save(name), shardRows: true }))).map(must)
    for (const { loss } of reports) assertCloseLosses(loss, one.loss)
    const shared = await weightsIn(at(name))
    assert.equal([...shared.keys()], [...whole.keys()])
    for (const [weight, values] of shared) {
      const furthest = values.reduce((most, value, place) => Math.max(most, Math.abs(value - whole.get(weight)![place]!)), 0)
      assert.ok(furthest < 1e-6, `${weight} of ${size} ranks is ${furthest} apart`)
    }
  }
})

/** Numbers of a validation of ranks are those of one process, but for rounding. */
const assertCloseValidations = (found: unknown, expected: unknown): void => {
  if (typeof expected === 'number' && typeof found === 'number')
    return assert.ok(Math.abs(found - expected) <= 1e-6 * Math.max(1, Math.abs(expected)), `${found} is not ${expected}`)
  if (typeof expected !== 'object' || expected === null || typeof found !== 'object' || found === null) return assert.equal(found, expected)
  assert.equal(Object.keys(found), Object.keys(expected))
  for (const [key, value] of Object.entries(expected)) assertCloseValidations((found as Record<string, unknown>)[key], value)
}

const masked = { model: rowSegmenter, data: at('masks/masks.csv'), validation: at('masks/masks.csv'), budget: '100%' } as const

for (const [what, more] of [
  ['images', { validation: 0.5 }],
  ['whole images with masks', masked],
  ['crops of images with masks', { ...masked, validateOn: 'crop' }],
  ['crops by Dice', { ...masked, validateOn: 'crop', loss: 'dice+cross-entropy' }]
] as const)
  test(`ranks that share rows validate ${what} as one process does, each its part of them, and train on`, async () => {
    const validating: Partial<TrainOptions> = { ...more, validateEvery: 1, steps: 3 }
    const one = must(await train(rowOptions(validating))())
    assert.is(one.validations!.length, 3)
    for (const size of [2, 3]) {
      const reports = (await trainOnRanks(size, () => rowOptions({ ...validating, shardRows: true }))).map(must)
      for (const { loss, validations } of reports) {
        assertCloseLosses(loss, one.loss)
        assertCloseValidations(validations, one.validations)
        assert.equal(validations, reports[0]!.validations)
      }
    }
  })

test('a training of shared rows goes on on another number of ranks', async () => {
  const whole = must(await train(rowOptions({ steps: 6 }))())
  const stateOf = (steps: number) => ({ steps, state: at('rows-state'), resume: true, shardRows: true })
  for (const [index, size] of [3, 1, 2].entries()) {
    const [report] = (await trainOnRanks(size, () => rowOptions(stateOf(2 * (index + 1))))).map(must)
    assertCloseLosses(report!.loss, whole.loss.slice(0, 2 * (index + 1)))
  }
})

test('one process shares no rows', async () => {
  const [failure] = failuresOf([await train(rowOptions({ shardRows: true }))()])
  assert.is(
    failure!.message,
    '--shard-rows shares rows among the processes that mpirun starts, and this one is alone: start it with mpirun'
  )
})

for (const [what, more, sentence] of [
  ['rows that fit no rank', { budget: 1000 }, /^rows on 1x3x64x32 does not fit the budget of 1000 bytes/]
] as const)
  test(`${what}: one sentence on all ranks that share rows`, async () => {
    const failures = failuresOf(await trainOnRanks(2, () => rowOptions({ ...more, shardRows: true })))
    for (const { message } of failures) assert.is(message, failures[0]!.message)
    assert.match(failures[0]!.message, sentence)
  })

test.run()
