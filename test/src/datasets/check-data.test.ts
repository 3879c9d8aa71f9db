/** What is said of the data before the first step. */
import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as E from 'fp-ts/Either'
import sharp from 'sharp'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { conv2d, globalAvgPool, model as modelOf } from '../../../dsl'
import { checkLabels } from '../../../src/datasets/dataset'
import { readDataset } from '../../../src/commands/read-dataset'
import { type TrainOptions, train } from '../../../src'
import { compiledCommand } from '../compiled-command'
import { writeImages, writeColours } from '../example-images'
import { writePng, writeTiff } from '../image-files'
import { failureOf, valueOf } from '../outcome'
import segmenting from '../segmenting-model'
import smallNetwork from '../small-model'
import { temporaryFolder } from '../temporary-folder'

const folder = temporaryFolder()
const at = (...names: readonly string[]): string => join(folder, ...names)
const { model, runInTurn } = compiledCommand()

const options = (more: Partial<TrainOptions>): TrainOptions => ({
  model: smallNetwork,
  data: at('images'),
  input: [2, 3, 16, 16],
  device: 'reference',
  threads: 1,
  steps: 1,
  ...more
})

/** What is said of a training that goes well. */
const noticesOf = async (more: Partial<TrainOptions>): Promise<readonly string[]> => {
  const notices: string[] = []
  await valueOf(train(options({ ...more, onNotice: (sentence) => notices.push(sentence) })))
  return notices
}

const copyOf = (name: string): string => {
  mkdirSync(at(name))
  execFileSync('cp', ['-r', at('images', 'dark'), at('images', 'light'), at(name)])
  return at(name)
}

const cut = (path: string): void => truncateSync(path, Math.floor(statSync(path).size / 2))

test.before(() => writeImages(at('images'), 5))

test('good data cause no notice', async () => {
  assert.equal(await noticesOf({}), [])
  assert.equal(await noticesOf({ checkData: true }), [])
})

test('every header is looked at before anything is planned: the first bad files are told, and how many', async () => {
  const data = copyOf('headers')
  let planned = false
  const check = () => failureOf(train(options({ data, steps: 1, onPlan: () => (planned = true) })))
  writeTiff(at('headers', 'light', '4.tif'), [0.5, 1, 0, 0], { height: 2, width: 2, type: 'float32' })
  assert.match((await check()).message, /^the image .*light\/4\.tif has 1 channel of float32 where the network reads 3: [^;]*$/)
  for (const index of [0, 1, 2, 3]) writeFileSync(at('headers', 'dark', `${index}.png`), 'no image')
  assert.match(
    (await check()).message,
    /^the image .*dark\/0\.png cannot be read: .+; the image .*dark\/1\.png .+; the image .*dark\/2\.png .+; and so it is with 2 more of 11$/
  )
  assert.not(planned)
})

test('--check-data decodes every image before anything is planned, which is not done otherwise', async () => {
  const data = copyOf('cut')
  for (const name of ['dark/1.png', 'light/3.png', 'light/4.png', 'dark/4.png']) cut(at('cut', name))
  let [planned, checked] = [false, [] as number[]]
  const run = (checkData: boolean) =>
    failureOf(
      train(options({ data, steps: 40, checkData, onPlan: () => (planned = true), onCheck: (done, total) => checked.push(done, total) }))
    )
  const { code, message } = await run(true)
  assert.is(code, 'input')
  const remedy = 'it is cut or damaged, so store it anew or leave it out'
  const parts = message.split(`; ${remedy}; `)
  assert.is(parts.length, 4, message)
  for (const [index, name] of ['dark/1.png', 'dark/4.png', 'light/3.png'].entries())
    assert.ok(/^the image .* cannot be read: [^;]+$/.test(parts[index]!) && parts[index]!.includes(name), message)
  assert.is(parts[3], 'and so it is with 1 more of 10')
  assert.not(planned)
  assert.equal(checked, Array.from({ length: 10 }, (_, index) => [index + 1, 10]).flat())
  checked = []
  assert.match((await run(false)).message, /^the image .* cannot be read: /)
  assert.ok(planned)
  assert.equal(checked, [])
  const args = ['train', model, '--data', data, '--device', 'reference', '--check-data', '--steps', '1']
  const { status, stderr } = await runInTurn(args)
  assert.is(status, 2)
  assert.match(stderr, /10\/10 images read whole\n/)
})

test('--check-data with --skip-bad tells what is damaged, and goes on without it', async () => {
  const data = copyOf('skipped')
  cut(at('skipped', 'dark/1.png'))
  const notices = await noticesOf({ data, checkData: true, skipBad: true })
  assert.is(
    notices.filter((sentence) =>
      /dark\/1\.png cannot be read: .* crops that cannot be read are drawn anew, as --skip-bad says$/.test(sentence)
    ).length,
    1
  )
})

test('10,000 headers take seconds, and aborting is heard at once', async () => {
  mkdirSync(at('many', 'dark'), { recursive: true })
  mkdirSync(at('many', 'light'))
  const image = readFileSync(at('images', 'dark', '0.png'))
  for (let index = 0; index < 10_000; index += 1) writeFileSync(at('many', index % 2 === 0 ? 'dark' : 'light', `${index}.png`), image)
  const controller = new AbortController()
  const started = performance.now()
  let planned = 0
  const whole = train(
    options({ data: at('many'), signal: controller.signal, onPlan: () => ((planned = performance.now()), controller.abort()) })
  )
  assert.ok(E.isLeft(await whole()))
  const seconds = (planned - started) / 1000
  assert.ok(seconds > 0 && seconds < 30, `${seconds} s`)
  const early = new AbortController()
  const running = train(options({ data: at('many'), checkData: true, signal: early.signal }))()
  await new Promise((resolve) => setTimeout(resolve, 200))
  const aborted = performance.now()
  early.abort()
  const ended = await running
  assert.ok(E.isLeft(ended) && ended.left.code === 'interrupted')
  assert.ok(performance.now() - aborted < 500)
  rmSync(at('many'), { recursive: true })
})

test('images that are not read, and folders in folders, are told', async () => {
  const data = copyOf('others')
  for (const name of ['dark/slide.czi', 'dark/other.CZI', 'light/a.ndpis', 'light/notes.txt', 'beside.png', 'readme.md'])
    writeFileSync(at('others', name), '')
  mkdirSync(at('others', 'light', 'more'))
  assert.equal(await noticesOf({ data }), [
    `${data}: left out are 1 *.png (beside.png), 2 *.czi (dark/other.CZI, …), 1 *.ndpis (light/a.ndpis), 1 subfolder (light/more); ` +
      'what is read are PNG, JPEG, TIFF, WebP and slide files in one folder a class'
  ])
  assert.is((await noticesOf({ data, validation: 0.5 })).length, 1)
  for (const name of ['dark', 'light']) for (let index = 0; index < 5; index += 1) rmSync(at('others', name, `${index}.png`))
  assert.match((await failureOf(readDataset(data))).message, /names no images: it must be .*; .*others: left out are 1 \*\.png/)
})

test('a hidden folder is no class, a hidden file no image, and a class without an image is told', async () => {
  const data = copyOf('hidden')
  const before = await valueOf(readDataset(data))
  for (const name of ['.ipynb_checkpoints', '.git']) mkdirSync(at('hidden', name))
  writeFileSync(at('hidden', 'dark', '._0.png'), 'what macOS writes beside 0.png')
  copyFileSync(at('hidden', 'dark', '0.png'), at('hidden', '.git', '0.png'))
  const { leftOut, ...dataset } = await valueOf(readDataset(data))
  assert.equal(dataset, before)
  assert.is(
    leftOut,
    `${data}: left out are 2 hidden folders (.git, …), 1 hidden image (dark/._0.png); what is read are PNG, JPEG, TIFF, WebP and slide files in one folder a class`
  )
  for (const name of ['.ipynb_checkpoints', '.git', 'dark/._0.png']) rmSync(at('hidden', name), { recursive: true })
  mkdirSync(at('hidden', 'a-typo'))
  const sentence = 'no training image is of 1 of the 3 classes (a-typo)'
  const wider = modelOf({ ...smallNetwork, name: 'wider', layers: [conv2d({ out: 3, k: 1 }), globalAvgPool] })
  for (const more of [{}, { validation: 0.5 }]) assert.equal(await noticesOf({ data, model: wider, ...more }), [sentence])
})

test('what is no ordinary file is refused by name without opening it', async () => {
  const data = copyOf('pipes')
  execFileSync('mkfifo', [at('pipes', 'dark', 'pipe.png'), at('pipes', 'mask.png')])
  assert.match(
    (await failureOf(train(options({ data })))).message,
    /pipes\/dark: the image .*pipe\.png is no ordinary file: mend the path, or leave it out$/
  )
  writeFileSync(at('pipes', 'list.csv'), 'dark/0.png,0\ndark,1\n')
  assert.match(
    (await failureOf(train(options({ data: at('pipes', 'list.csv') })))).message,
    /line 2: the image .*dark is no ordinary file: mend the path, or leave it out$/
  )
  writeFileSync(at('pipes', 'list.csv'), 'dark/0.png,mask.png\n')
  assert.match(
    (await failureOf(readDataset(at('pipes', 'list.csv')))).message,
    /line 1: the mask .*mask\.png cannot be read: it is no ordinary/
  )
})

test('masks of which no pixel counts, or all are of one class, are told', async () => {
  const noise = Uint8Array.from({ length: 32 * 32 * 3 }, (_, index) => (index * 7919) % 251)
  await writeColours(at('image.png'), noise, { height: 32, width: 32 })
  const mask = (name: string, value: (index: number) => number): void =>
    writePng(
      at(name),
      Array.from({ length: 32 * 32 }, (_, index) => value(index)),
      { height: 32, width: 32, bitDepth: 8 }
    )
  mask('ignored.png', () => 255)
  mask('one.png', (index) => (index % 2 === 0 ? 1 : 255))
  mask('both.png', (index) => index % 2)
  const csv = (name: string): string => (writeFileSync(at(`${name}.csv`), `path,mask\nimage.png,${name}.png\n`), at(`${name}.csv`))
  const masks = { model: segmenting, input: [2, 3, 32, 32] } as const
  const untaught = await failureOf(train(options({ ...masks, data: csv('ignored') })))
  assert.is(untaught.code, 'input')
  assert.is(
    untaught.message,
    `${at('ignored.csv')} line 2: no pixel of the training masks counts, nor lies in a polygon of a class: label some`
  )
  const unmeasured = await failureOf(train(options({ ...masks, data: csv('both'), validation: csv('ignored') })))
  assert.is(unmeasured.code, 'input')
  assert.is(
    unmeasured.message,
    `${at('ignored.csv')} line 2: no pixel of the validation masks counts, nor lies in a polygon of a class: label some, or leave out --validation`
  )
  assert.equal(await noticesOf({ ...masks, data: csv('one'), validation: csv('one') }), [
    'all pixels of the 1 training masks that count are of class 1 (255 does not count): nothing can be told apart'
  ])
  assert.equal(await noticesOf({ ...masks, data: csv('both') }), [])
})

test('crops in which no pixel counts are told, and what draws others', async () => {
  await writeColours(at('wide.png'), new Uint8Array(128 * 128 * 3).fill(90), { height: 128, width: 128 })
  const labels = Array.from({ length: 128 * 128 }, (_, index) => (index === 0 ? 1 : index === 1 ? 0 : 255))
  writePng(at('sparse.png'), labels, { height: 128, width: 128, bitDepth: 8 })
  writeFileSync(at('sparse.csv'), 'path,mask\nwide.png,sparse.png\n')
  const sparse = { model: segmenting, input: [2, 3, 16, 16], data: at('sparse.csv'), steps: 8 } as const
  const sentence = 'in 8 of 8 batches no pixel counts, so that they teach nothing and their loss is 0'
  assert.equal(await noticesOf(sparse), [`${sentence}: --annotated draws crops where some do`])
  assert.equal(await noticesOf({ ...sparse, annotated: true }), [])
})

test('where one of --data and --validation names its classes and the other numbers them, that is told', async () => {
  const [first, second] = ['dark', 'light'].map((name) => join('images', name, readdirSync(at('images', name))[0]!))
  writeFileSync(at('numbered.csv'), `path,label\n${first},1\n${second},0\n`)
  const said = 'names them: dark = 0, light = 1; where the numbers mean others, give --class-names in their order'
  assert.equal(await noticesOf({ validation: at('numbered.csv') }), [`--validation numbers its classes, and --data ${said}`])
  assert.equal(await noticesOf({ data: at('numbered.csv'), validation: at('images') }), [
    `--data numbers its classes, and --validation ${said}`
  ])
})

test('labels of a dataset that was made by hand are checked as those of a file', async () => {
  const dataset = await valueOf(readDataset(at('images')))
  for (const label of [0.5, NaN, -1, Infinity]) {
    const wrong = { ...dataset, examples: [...dataset.examples, { ...dataset.examples[0]!, label }] }
    const refused = checkLabels(2)(wrong)
    assert.ok(E.isLeft(refused))
    assert.match(refused.left.message, `dark: the label ${label} is not an integer from 0 upwards`)
    assert.is((await failureOf(train(options({ data: wrong })))).code, 'input')
  }
})

test('a thin image is refused by its header, before it is enlarged', async () => {
  const data = copyOf('thin')
  await sharp({ create: { width: 60_000, height: 1, channels: 3, background: 'red' } })
    .png()
    .toFile(at('thin', 'dark', '9.png'))
  const started = performance.now()
  const { message } = await failureOf(train(options({ data, input: [1, 3, 64, 64] })))
  assert.match(message, /^the image .*9\.png is 1x60000: to hold a crop of 64x64 it would be enlarged to 64x3840000; take a smaller --crop/)
  assert.ok(performance.now() - started < 10_000)
})

test('what images have beside what is read is told', async () => {
  const data = copyOf('beside')
  copyFileSync(at('images', 'dark', '0.png'), at('beside', 'dark', '0.png'))
  await sharp(at('images', 'dark', '0.png'))
    .ensureAlpha(0.5)
    .withMetadata({ orientation: 3 })
    .png()
    .toFile(at('beside', 'light', '0.png'))
  assert.equal(
    (await noticesOf({ data })).map((sentence) => sentence.replace(/: .*\//, ': ')),
    [
      '1 of 10 images have a channel beside the colours, such as transparency, which is dropped: 0.png',
      '1 of 10 images have an orientation tag, which is not applied: 0.png'
    ]
  )
})

test.run()
