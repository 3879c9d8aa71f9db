/** Training on groups of ranks of this process: each shares rows, and they micro-batches. */
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { TrainReport } from '../../../src'
import { train } from '../../../src/commands/train'
import type { TrainOptions } from '../../../src/option-tables/train-options'
import { must } from '../../must'
import { writeImages, writeMasks } from '../example-images'
import { assertCloseLosses, classifierOptions, failuresOf, trainOnRanks } from './rank-trainings'
import segmenter from '../segmenting-model'
import { temporaryFolder } from '../temporary-folder'

const folder = temporaryFolder()
const at = (name: string): string => join(folder, name)
// So fast that small images are shared too.
const grouped = classifierOptions(at('images'))
const options = (more: Partial<TrainOptions> = {}): TrainOptions =>
  grouped({ device: 'reference', network: '1000GB/s,1ns', shardRows: 2, ...more })

test.before(async () => {
  await writeImages(at('images'), 6)
  mkdirSync(at('masks'))
  await writeMasks(at('masks'))
})

for (const [name, sizes, more] of [
  ['images that are validated, by statistics of rows', [4, 8], { validation: 0.34, clipNorm: 0.5, flip: true, rotate: true }],
  // Four groups differ from two in nothing that is of masks.
  ['masks, of which whole images are validated', [4], { model: segmenter, data: at('masks/masks.csv'), validation: at('masks/masks.csv') }],
  ['a budget that asks for tiles', [4, 8], { budget: '80%' }]
] as const)
  test(`the weights' file has the same bytes on one group of two ranks as on more: ${name}`, async () => {
    const run = async (size: number): Promise<readonly [TrainReport, Buffer]> => {
      const save = at(`groups-${size}.safetensors`)
      const reports = (await trainOnRanks(size, () => options({ ...more, save }))).map(must)
      for (const { loss, validations } of reports) assert.equal([loss, validations], [reports[0]!.loss, reports[0]!.validations])
      return [reports[0]!, readFileSync(save)]
    }
    const [one, bytes] = await run(2)
    const alone = must(await train(options({ ...more, shardRows: false }))())
    assertCloseLosses(one.loss, alone.loss)
    for (const size of sizes) {
      const [several, others] = await run(size)
      assert.equal(several.loss, one.loss)
      assert.equal(several.validations, one.validations)
      assert.is(several.predictedPeakBytes, one.predictedPeakBytes)
      assert.ok(others.equals(bytes), `other weights on ${size} ranks`)
    }
  })

test('a training on groups goes on with more of them to the same bits, and on ranks of other meshes but for rounding', async () => {
  const whole = (await trainOnRanks(4, () => options({ steps: 6 }))).map(must)[0]!
  const goOn = async (size: number, shardRows: number | boolean, steps: number): Promise<TrainReport> =>
    (await trainOnRanks(size, () => options({ steps, shardRows, state: at('state'), resume: true }))).map(must)[0]!
  assert.equal((await goOn(4, 2, 2)).loss, whole.loss.slice(0, 2))
  assert.equal((await goOn(8, 2, 3)).loss, whole.loss.slice(0, 3))
  assert.equal((await goOn(2, true, 4)).loss, whole.loss.slice(0, 4))
  assertCloseLosses((await goOn(6, 3, 5)).loss, whole.loss.slice(0, 5))
  assertCloseLosses((await goOn(2, false, 6)).loss, whole.loss)
})

for (const [what, size, more, sentence] of [
  ['a rank that is alone', 1, {}, 'a single rank makes no group of 2 that share rows: start a multiple of 2, or leave --shard-rows out'],
  [
    'ranks that make no such groups',
    3,
    {},
    '3 ranks make no groups of 2 that share rows: start a multiple of 2, or give --shard-rows a divisor of 3'
  ],
  [
    'groups that do not share micro-batches alike',
    6,
    {},
    '3 groups of 2 ranks share the micro-batches of an update: give --accumulate 3, or a multiple of it, in place of 4'
  ],
  [
    'groups of so many parts of images and rows that there are none',
    6,
    { shardImages: 2 },
    '6 ranks make no groups of 4 that share images and rows: start a multiple of 4, or give --shard-images and --shard-rows a divisor of 6'
  ],
  [
    'images and rows in as many parts as there are',
    4,
    { shardImages: true, shardRows: true },
    '--shard-images and --shard-rows: say of one of them into how many parts'
  ],
  [
    'more parts of images than there are',
    8,
    { shardImages: 4 },
    'classifier: 4 groups of ranks cannot share the 2 images of a batch, each some of them; take fewer, or a larger batch.'
  ],
  ['a group of none', 2, { shardRows: 0 }, 'shardRows is 0, not true, false or a whole number from 1 upwards']
] as const)
  test(`${what}: one sentence on all ranks`, async () => {
    for (const { message } of failuresOf(await trainOnRanks(size, () => options(more)))) assert.is(message, sentence)
  })

test.run()
