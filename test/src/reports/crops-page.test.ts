/** Validated crops on the page of a training: the pixels, the truth, and what the network says. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import sharp from 'sharp'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { linear, model } from '../../../dsl'
import { type TrainOptions, predict, train } from '../../../src'
import type { Report } from '../../../src/reports/report'
import { embeddedReport } from '../embedded-report'
import { writeImages, writeMasks } from '../example-images'
import { failureOf, valueOf } from '../outcome'
import segmenting from '../segmenting-model'
import small from '../small-model'
import { temporaryFolder } from '../temporary-folder'

const folder = temporaryFolder()
const at = (name: string): string => join(folder, name)
test.before(async () => {
  await writeImages(at('images'), 4)
  await writeMasks(folder)
})

const common = { device: 'reference', threads: 1, strategy: 'plain', lr: 0.05 } as const

const trainedPage = async (options: Omit<TrainOptions, 'model'> & Pick<TrainOptions, 'model'>, name: string) => {
  const { validations } = await valueOf(train({ ...options, report: at(name) }))
  const { crops, classes, facts } = embeddedReport(at(name))
  assert.equal(facts[0], { name: 'ended', text: 'finished' })
  return { crops, classes, last: validations!.at(-1)! }
}

const bytes = (text: string | null): Buffer => Buffer.from(text!, 'base64')
const agreeing = ({ target, predicted }: Report['crops'][number]): number => {
  const [truth, said] = [bytes(target), bytes(predicted)]
  return truth.filter((one, place) => one === said[place]).length / truth.length
}

test("a segmentation's page has the crop as it is, its mask, and the classes that were validated", async () => {
  const data = at('masks.csv')
  const run = { ...common, model: segmenting, input: [2, 3, 96, 128], data, validation: data } as const
  const { crops, classes, last } = await trainedPage({ ...run, steps: 3 }, 'masks.html')
  assert.equal(
    crops.map(({ name, height, width }) => [name, height, width]),
    [['tissue.png', 96, 128]]
  )
  assert.equal(bytes(crops[0]!.rgb), await sharp(at('tissue.png')).removeAlpha().raw().toBuffer())
  assert.equal(bytes(crops[0]!.target), await sharp(at('mask.png')).extractChannel(0).raw().toBuffer())
  assert.is(agreeing(crops[0]!), last.accuracy)
  // As masks and TensorBoard's pictures have them.
  const [first, second] = [
    { label: 0, name: 'class 0', colour: [0, 0, 0] },
    { label: 1, name: 'class 1', colour: [230, 159, 0] }
  ]
  assert.equal(classes.slice(0, 2), [first, second])
  const named = await trainedPage({ ...run, steps: 1, classNames: 'stroma,tumour,fat' }, 'named.html')
  assert.equal(named.classes.slice(0, 2), [
    { ...first, name: 'stroma' },
    { ...second, name: 'tumour' }
  ])
})

test("a larger crop is made small, and a classification's says its class and the network's", async () => {
  const { crops } = await trainedPage(
    { ...common, model: small, input: [2, 3, 256, 400], data: at('images'), validation: at('images'), steps: 2 },
    'classes.html'
  )
  assert.equal(
    crops.map(({ name }) => name),
    ['0.png', '2.png', '0.png', '2.png'],
    'of both folders'
  )
  for (const { height, width, rgb, target, text } of crops) {
    assert.equal([height, width, bytes(rgb).length, target], [122, 192, 3 * 122 * 192, null])
    assert.match(text, /^class (dark|light); predicted (dark|light), probability (0\.[5-9]\d|1\.00)$/)
  }
  // The dark images come first.
  assert.ok(bytes(crops[0]!.rgb).every((value) => value < 120))
})

for (const [kind, column, rows, layers, wanted] of [
  [
    ...(['sets of classes', 'labels', ['0;1', '', '1', '0']] as const),
    ...([2, /^classes (0, 1|none|1|0); predicted (none|[01] \((0\.[5-9]\d|1\.00)\)(, 1 \((0\.[5-9]\d|1\.00)\))?)$/] as const)
  ],
  ['values', 'value', ['12', '-3.25', '40', '7'], 1, /^value (12|-3\.25|40|7); predicted -?\d+(\.\d+)?(e-\d+)?$/]
] as const)
  test(`a page of ${kind} has the crops, with what is true and what the network says`, async () => {
    const files = ['dark/0.png', 'dark/1.png', 'light/2.png', 'light/3.png']
    const data = at(`${column}.csv`)
    writeFileSync(data, `path,${column}\n${files.map((file, image) => `images/${file},${rows[image]}\n`).join('')}`)
    const loss = column === 'value' ? 'huber' : 'binary-cross-entropy'
    const scoring = model({ ...small, layers: [...small.layers.slice(0, -1), linear({ out: layers })] })
    const { crops } = await trainedPage(
      { ...common, model: scoring, input: [2, 3, 16, 20], data, validation: data, loss, steps: 2 },
      `${column}.html`
    )
    assert.is(crops.length, 4)
    crops.forEach(({ text, heatMap, predicted }) => {
      assert.match(text, wanted)
      assert.equal([heatMap, predicted], [null, null])
    })
    assert.is(new Set(crops.map(({ text }) => text.split(';')[0])).size, 4)
  })

test('a heat map shows what speaks for the class that is predicted, over the crop that was validated', async () => {
  const save = at('weights.safetensors')
  const run = { ...common, model: small, data: at('images'), validation: at('images'), steps: 6, save } as const
  for (const heatmap of ['cam', 'saliency'] as const) {
    const { crops } = await trainedPage({ ...run, input: [2, 3, 16, 20], heatmap }, `${heatmap}.html`)
    for (const { rgb, text, heatMap } of crops) {
      assert.is(heatMap!.text, `what speaks for class ${/predicted (\w+)/.exec(text)![1]!}`)
      const [picture, drawn] = [bytes(rgb), bytes(heatMap!.rgb)]
      assert.is(drawn.length, 3 * 16 * 20)
      assert.not.equal(drawn, picture)
    }
  }
  // The same map that predict draws over an image of the crop.
  const crop = { left: 10, top: 4, width: 20, height: 16 }
  await sharp(at('images/dark/0.png')).extract(crop).toFile(at('crop.png'))
  const { crops } = await trainedPage({ ...run, input: [2, 3, 16, 20], heatmap: 'cam' }, 'again.html')
  const shown = crops.find(({ name }) => name === '0.png')!
  const of = /predicted (\w+)/.exec(shown.text)![1]!
  const out = at('overlaid.png')
  await valueOf(
    predict({ model: small, weights: save, image: at('crop.png'), heatmap: 'cam', class: of, out, device: 'reference', threads: 1 })
  )
  // Its pictures go through JPEG.
  const predicted = await sharp(out).removeAlpha().raw().toBuffer()
  const mean = bytes(shown.heatMap!.rgb).reduce((sum, value, at) => sum + Math.abs(value - predicted[at]!), 0) / predicted.length
  assert.ok(mean < 6, `${mean}`)
})

test('a heat map needs a page, crops and weights; a network that scores pixels has none', async () => {
  const run = { ...common, model: small, input: [2, 3, 16, 20], data: at('images'), steps: 1, heatmap: 'cam' } as const
  assert.is((await failureOf(train(run))).message, '--heatmap needs --validation: give both')
  const validated = { ...run, validation: at('images') }
  assert.is((await failureOf(train(validated))).message, '--heatmap needs --report: give both')
  assert.is((await failureOf(train({ ...validated, report: at('none.html') }))).message, '--heatmap needs --save: give both')
  const masks = at('masks.csv')
  const whole = { ...run, model: segmenting, input: [2, 3, 96, 128], data: masks, validation: masks, report: at('none.html') } as const
  const failure = await failureOf(train({ ...whole, save: at('none.safetensors') }))
  assert.match(failure.message, /does not end in a linear layer, of which the score of one class is taken: give another model/)
})

test.run()
