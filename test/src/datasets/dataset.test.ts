import { mkdirSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { types } from 'node:util'
import * as E from 'fp-ts/Either'
import sharp from 'sharp'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { checkLabels } from '../../../src/datasets/dataset'
import { readDataset } from '../../../src/commands/read-dataset'
import { type DecodedImage, decodeImage } from '../../../src/images/decode-image'
import { enlargeFile, enlargePixels } from '../../../src/images/enlarge'
import { cutMask } from '../../../src/datasets/masks/mask-crops'
import { decodeMask } from '../../../src/datasets/masks/masks'
import { failureOf, valueOf } from '../outcome'
import { imageCache } from '../../../src/datasets/image-cache'
import { temporaryFolder } from '../temporary-folder'

const folder = temporaryFolder()
const at = (...names: readonly string[]): string => join(folder, ...names)
const write = (name: string, text: string): string => (writeFileSync(at(name), text), at(name))

const red = { r: 255, g: 0, b: 0, alpha: 0.5 }
const blank = (width: number, height: number) => sharp({ create: { width, height, channels: 4, background: red } })

test.before(async () => {
  for (const name of ['cats', 'dogs', 'empty']) mkdirSync(at('tree', name), { recursive: true })
  await blank(20, 10)
    .png()
    .toFile(at('tree', 'cats', 'a.png'))
  await blank(20, 10)
    .removeAlpha()
    .jpeg()
    .toFile(at('tree', 'cats', 'b.JPG'))
  await blank(20, 10)
    .webp()
    .toFile(at('tree', 'dogs', 'c.webp'))
  write('tree/dogs/notes.txt', 'no image')
})

test('a CSV file with and without a header, paths relative to it', async () => {
  const expected = [
    { path: at('tree/cats/a.png'), label: 0 },
    { path: at('tree/dogs/c.webp'), label: 2 }
  ]
  const rows = 'tree/cats/a.png,0\n"tree/dogs/c.webp", 2\n'
  for (const text of [rows, `path,label\n${rows}`, `\ufeffpath,label\r\n\r\n${rows}\n`]) {
    const dataset = await valueOf(readDataset(write('data.csv', text)))
    assert.equal(
      dataset.examples.map(({ path, label }) => ({ path, label })),
      expected
    )
    assert.is(dataset.classes, 3)
  }
})

test('a folder has one class a folder, in the order of their names', async () => {
  const { examples, classes } = await valueOf(readDataset(at('tree')))
  assert.is(classes, 3)
  assert.equal(
    examples.map(({ path, label }) => [path, label]),
    [
      [at('tree/cats/a.png'), 0],
      [at('tree/cats/b.JPG'), 0],
      [at('tree/dogs/c.webp'), 1]
    ]
  )
})

test('links to folders are folders', async () => {
  mkdirSync(at('linked'))
  for (const name of ['cats', 'dogs']) symlinkSync(at('tree', name), at('linked', name))
  const { examples, classes } = await valueOf(readDataset(at('linked')))
  assert.equal([examples.length, classes], [3, 2])
})

const rejected: readonly (readonly [name: string, text: string, sentence: RegExp])[] = [
  [
    'a label that is no integer',
    'tree/cats/a.png,cat\n',
    /line 1: the label "cat" is not an integer from 0 upwards: give --class-names with the names of classes; if these are names of columns, one of them must be path$/
  ],
  ['a negative label', 'tree/cats/a.png,0\ntree/cats/a.png,-1\n', /line 2: the label "-1"/],
  ['a row of one column', 'tree/cats/a.png\n', /line 1: "tree\/cats\/a.png" is not path,label; if these/],
  ['a row of three columns', 'tree/cats/a.png,1,2\n', /line 1: ".*" is not path,label; if these/],
  [
    'columns by semicolons',
    'path;label\ntree/cats/a.png;1\n',
    /line 1: "path;label" is not path,label: separate columns by commas; if these/
  ],
  ['an image that is absent', 'path,label\ntree/cats/z.png,0\n', /line 2: the image .*z\.png does not exist/],
  ['no rows', 'path,label\n', /names no images/],
  ['a broken quotation', '"tree,0\n', /cannot be read: /]
]

for (const [name, text, sentence] of rejected) {
  test(`refuses ${name}`, async () => {
    const failure = await failureOf(readDataset(write('bad.csv', text)))
    assert.is(failure.code, 'input')
    assert.match(failure.message, sentence)
  })
}

test('refuses data that are absent, and a folder without images', async () => {
  assert.match((await failureOf(readDataset(at('nowhere')))).message, /^--data .*nowhere does not exist$/)
  assert.match((await failureOf(readDataset(at('tree', 'cats')))).message, /names no images/)
})

test('labels must fit the classes', async () => {
  const dataset = await valueOf(readDataset(write('data.csv', 'tree/cats/a.png,0\ntree/cats/a.png,5\n')))
  assert.ok(E.isRight(checkLabels(6)(dataset)))
  const refused = checkLabels(5)(dataset)
  assert.ok(E.isLeft(refused))
  assert.match(refused.left.message, /line 2: the label 5 is out of range: the model's classes are 0 to 4$/)
  assert.match(
    (checkLabels(1)(dataset) as E.Left<{ message: string }>).left.message,
    /classes are 0 to 0; end the model in a score a class, or name the column class:NAME in place of label and give --loss binary-cross-entropy$/
  )
})

/** Of an image in memory. */
const bytesOf = ({ pixels }: DecodedImage): Uint8Array => (assert.instance(pixels, Uint8Array), pixels as Uint8Array)

test('images become RGB of 8 bits, without transparency', async () => {
  const image = await valueOf(decodeImage(at('tree/cats/a.png'), { height: 1, width: 1 }))
  const { height, width, channels } = image
  const pixels = bytesOf(image)
  assert.equal([height, width, channels], [10, 20, 3])
  assert.equal([...pixels.subarray(0, 6)], [255, 0, 0, 255, 0, 0])
  await sharp(new Uint8Array(6).fill(0x80), { raw: { width: 3, height: 2, channels: 1 } })
    .toColourspace('b-w')
    .png()
    .toFile(at('grey.png'))
  const grey = await valueOf(decodeImage(at('grey.png'), { height: 1, width: 1 }))
  assert.equal([...bytesOf(grey)], Array(18).fill(128))
})

test('images smaller than the crop are enlarged in proportion', async () => {
  const image = await valueOf(decodeImage(at('tree/cats/a.png'), { height: 33, width: 7 }))
  assert.equal([image.height, image.width, bytesOf(image).length], [33, 66, 33 * 66 * 3])
})

test('what is enlarged stays where it was, and masks lie on it', async () => {
  const rows = 20
  const ramp = Uint8Array.from({ length: rows * rows * 3 }, (_, at) => 10 + 10 * (Math.floor(at / 3) % rows))
  await sharp(ramp, { raw: { width: rows, height: rows, channels: 3 } })
    .png()
    .toFile(at('ramp.png'))
  const classes = ramp.filter((_, place) => place % 3 === 0).map((value) => value / 10)
  await sharp(classes, { raw: { width: rows, height: rows, channels: 1 } })
    .toColourspace('b-w')
    .png()
    .toFile(at('ramp-mask.png'))
  for (const side of [33, 40, 50]) {
    const least = { height: side, width: side }
    const expected = Array.from({ length: side }, (_, column) => ((column + 0.5) * rows) / side - 0.5)
    const enlarged = bytesOf(await valueOf(decodeImage(at('ramp.png'), least)))
    const middle = 3 * side * (side >> 1)
    expected.forEach((place, column) => {
      const inside = Math.min(rows - 1, Math.max(0, place))
      assert.ok(Math.abs(enlarged[middle + 3 * column]! - 10 - 10 * inside) <= 0.51, `${side}, column ${column}`)
    })
    const mask = cutMask(await valueOf(decodeMask(at('ramp-mask.png'))), least, { top: 0, left: 0, ...least })
    assert.equal(
      [...mask.pixels.subarray(0, side)],
      expected.map((place) => 1 + Math.floor(place + 0.5))
    )
  }
})

test('an image is enlarged on disk as in memory', async () => {
  const [stored, wanted] = [
    { height: 40, width: 20 },
    { height: 2600, width: 1300 }
  ]
  const pixels = Uint8Array.from({ length: 40 * 20 * 3 }, (_, index) => (index * 7919) % 251)
  writeFileSync(at('stored.v'), Buffer.concat([Buffer.alloc(64), pixels]))
  await enlargeFile(at('stored.v'), at('enlarged.v'), stored, wanted)
  assert.ok(
    readFileSync(at('enlarged.v'))
      .subarray(64)
      .equals(await enlargePixels(pixels, stored, wanted))
  )
  await valueOf(decodeImage(at('ramp.png'), { height: 50, width: 50 }, 0))
})

for (const format of ['png', 'jpeg', 'tiff', 'webp'] as const) {
  test(`a cut ${format} is a failure`, async () => {
    const noise = Uint8Array.from({ length: 64 * 64 * 3 }, (_, index) => (index * 7919) % 251)
    const whole = await sharp(noise, { raw: { width: 64, height: 64, channels: 3 } })
      .toFormat(format)
      .toBuffer()
    for (const share of [0, 0.1, 0.6, 0.98]) {
      writeFileSync(at('cut'), whole.subarray(0, Math.floor(whole.length * share)))
      for (const inMemory of [Infinity, 0]) {
        const failure = await failureOf(decodeImage(at('cut'), { height: 1, width: 1 }, inMemory))
        assert.is(failure.code, 'input')
        assert.match(failure.message, /^the image .*cut cannot be read: [^\n]+$/)
      }
    }
  })
}

test('the cache decodes an image once while it fits, and stays within its bytes', async () => {
  const [small, other] = [at('small.png'), at('other.png')]
  await blank(10, 10).png().toFile(small)
  await blank(10, 10).png().toFile(other)
  const cached = imageCache({ height: 1, width: 1 }, 500)
  const first = await valueOf(cached(small))
  assert.is(await valueOf(cached(small)), first)
  await valueOf(cached(other))
  assert.is.not(await valueOf(cached(small)), first)
})

test('an image that is decoded twice at once is held once', async () => {
  const [twice, other] = [at('twice.png'), at('beside.png')]
  await blank(10, 10).png().toFile(twice)
  await blank(10, 10).png().toFile(other)
  const cached = imageCache({ height: 1, width: 1 }, 600)
  const decoded = await Promise.all([valueOf(cached(twice)), valueOf(cached(twice))])
  await valueOf(cached(other))
  assert.ok(decoded.includes(await valueOf(cached(twice))))
})

test('an image that is too large for memory waits on disk, in a file without a name', async () => {
  const image = at('large.png')
  await blank(10, 10).png().toFile(image)
  const cached = imageCache({ height: 1, width: 1 }, 299)
  const first = await valueOf(cached(image))
  assert.ok(types.isExternal(first.pixels))
  assert.is(await valueOf(cached(image)), first)
  const cache = join(process.env.XDG_CACHE_HOME!, 'tilefold')
  const own = readdirSync(cache).filter((name) => name.startsWith(`unpacked-${hostname()}.${process.pid}-`))
  assert.is(own.length, 1)
  assert.equal(readdirSync(join(cache, own[0]!)), [])
})

test('a cache folder that cannot be used is a sentence', async () => {
  const before = process.env.XDG_CACHE_HOME
  process.env.XDG_CACHE_HOME = at('tree/cats/a.png')
  const { message } = await failureOf(decodeImage(at('tree/cats/a.png'), { height: 1, width: 1 }, 0))
  process.env.XDG_CACHE_HOME = before
  assert.match(message, /a\.png\/tilefold: cannot be used \(not a directory\); set XDG_CACHE_HOME to a folder that can be written$/)
})

test.run()
