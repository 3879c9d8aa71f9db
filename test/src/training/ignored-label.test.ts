/** A loss that ignores another label of pixels than 255: training and validation do, too. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type Model, conv2d, pixelCrossEntropy } from '../../../dsl'
import { type TrainOptions, type TrainReport, train } from '../../../src'
import { noise, writeColours } from '../example-images'
import { writePng } from '../image-files'
import { failureOf, valueOf } from '../outcome'
import { temporaryFolder } from '../temporary-folder'

const folder = temporaryFolder()
const at = (name: string): string => join(folder, name)
const extent = { height: 64, width: 64 }

/** Three classes in columns, and `other` in the rows from 16 on. */
const writeMasked = async (name: string, other: number): Promise<void> => {
  const mask = Uint8Array.from({ length: 64 * 64 }, (_, at) => (at >= 16 * 64 ? other : Math.floor((at % 64) / 22)))
  writePng(at(`${name}.mask.png`), mask, { ...extent, bitDepth: 8 })
  await writeColours(at(`${name}.png`), noise(3 * 64 * 64, other), extent)
  writeFileSync(at(`${name}.csv`), `path,mask\n${name}.png,${name}.mask.png\n`)
}

test.before(async () => {
  for (const other of [0, 7, 255]) await writeMasked(`${other}`, other)
})

const ignoring = (ignore: number): Model => ({ name: 'ignoring', layers: [conv2d({ out: 3, k: 3, p: 1 }), pixelCrossEntropy({ ignore })] })

const options = (name: string, ignore: number): TrainOptions => ({
  ...{ model: ignoring(ignore), data: at(`${name}.csv`), input: [1, 3, 64, 64] },
  ...{ device: 'reference', precision: 'float64', threads: 1, steps: 2, lr: 0.01 }
})

const last = ({ validations }: TrainReport) => {
  const { validatedOn: _, auc: __, classAuc: ___, loss, ...measures } = validations!.at(-1)!
  return { loss: loss.toFixed(10), measures }
}

test('a middle crop of the whole image has the measures of the image: what is ignored is in neither', async () => {
  for (const [name, ignore] of [
    ['0', 0],
    ['7', 7],
    ['255', 255]
  ] as const) {
    const validated = async (validateOn: 'crop' | 'image') =>
      last(await valueOf(train({ ...options(name, ignore), validation: at(`${name}.csv`), validateOn })))
    const ofCrop = await validated('crop')
    assert.equal(ofCrop, await validated('image'))
    const counted = ofCrop.measures.confusion!.flat().reduce((sum, count) => sum + count, 0)
    assert.is(counted, ignore === 0 ? 16 * 42 : 16 * 64)
  }
})

test('a mask holds what the loss ignores, and neither 255 in its place nor other labels beyond the classes', async () => {
  const both = await failureOf(train(options('255', 7)))
  assert.is(both.code, 'input')
  assert.match(
    both.message,
    /255\.csv line 2: pixels of the mask .*255\.mask\.png are 255, but the loss of ignoring ignores 7 in its place: /
  )
  const beyond = await failureOf(train(options('7', 9)))
  assert.match(beyond.message, /holds the class 7, out of range: the model's classes are 0 to 2, and 9 is ignored$/)
})

test('crops are drawn where pixels count for the loss, and it is said where there are none', async () => {
  const notices: string[] = []
  const drawn = { ...options('0', 0), input: [1, 3, 8, 8], steps: 20, onNotice: (sentence: string) => notices.push(sentence) } as const
  await valueOf(train(drawn))
  assert.match(notices.join('\n'), /in \d+ of \d+ batches no pixel counts, .*: --annotated draws crops where some do/)
  notices.length = 0
  await valueOf(train({ ...drawn, annotated: true }))
  assert.equal(notices, [])
  await writeMasked('only', 0)
  writePng(at('only.mask.png'), new Uint8Array(64 * 64), { ...extent, bitDepth: 8 })
  const none = await failureOf(train(options('only', 0)))
  assert.match(none.message, /no pixel of the training masks counts/)
})

test.run()
