import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { test } from 'uvu'
import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { type PixelType, type Image, type ImageWindow, type ReadPixels, type Session, createKernelTimer, mapPixels } from '../../native'
import { type Elements, asBytes, newElements, pixelBytes } from '../../src/images/samples'
import type { Kernel } from '../../staging/kernels/kernels'
import { channelBlock, layoutCode, type Layout } from '../../staging/kernels/layout'
import { temporaryFolder } from '../src/temporary-folder'
import { must } from '../must'
import { close, stepIo, index, launch, left, loop, open, parameters, targets, type Target } from './program'

const [height, width] = [4, 6]
const [tileHeight, tileWidth] = [2, 3]
/** Of a file without tiles. */
const single = { height: 1, width: 1 }
const [mean, deviation] = [
  [0.4, 0.5, 0.6, 0.1],
  [0.2, 0.3, 0.4, 0.7]
].map((values) => Array.from({ length: 64 }, (_, channel) => values[channel % 4]!)) as [number[], number[]]

type Pixel = readonly number[]
type Rows = readonly (readonly Pixel[])[]

/** An image whose pixels the test reads too. */
type Held = Image & { readonly pixels: Uint8Array }

const pixelsOf = (rows: number, columns: number, channels: number, seed: number): Held => ({
  pixels: Uint8Array.from({ length: rows * columns * channels }, (_, i) => ((i + seed) * 2654435761) >>> 24),
  height: rows,
  width: columns,
  channels,
  cropTop: 0,
  cropLeft: 0,
  flipHorizontal: false,
  flipVertical: false,
  quarterTurns: 0
})

const transposed = (rows: Rows): Rows => rows[0]!.map((_, column) => rows.map((row) => row[column]!))

/**
 * Cut out, flipped and turned by hand; to turn counter-clockwise is to transpose and to put the
 * last row first.
 */
const cropped = ({ pixels, width: across, channels, cropTop, cropLeft, flipHorizontal, flipVertical, quarterTurns }: Held): Rows => {
  const [rows, columns] = quarterTurns % 2 === 1 ? [width, height] : [height, width]
  const cut = Array.from({ length: rows }, (_, y) =>
    Array.from({ length: columns }, (__, x) => {
      const start = ((cropTop + y) * across + cropLeft + x) * channels
      return [...pixels.slice(start, start + channels)]
    })
  )
  const upright = flipVertical ? [...cut].reverse() : cut
  const flipped: Rows = flipHorizontal ? upright.map((row) => [...row].reverse()) : upright
  return Array.from({ length: quarterTurns }).reduce<Rows>((turned) => [...transposed(turned)].reverse(), flipped)
}

/** What the whole batch should be, [batch, channels, height, width] flat, before colours. */
const expectedOf = (images: readonly Held[], colours: (pixel: Pixel, image: Image) => Pixel = (pixel) => pixel): readonly number[] =>
  images.flatMap((image) => {
    const rows = cropped(image)
    return Array.from({ length: image.channels }, (_, c) =>
      rows.flatMap((row) =>
        row.map(
          (pixel) =>
            (colours(
              pixel.map((value) => value / 255),
              image
            )[c]! -
              mean[c]!) /
            deviation[c]!
        )
      )
    ).flat()
  })

/**
 * Loads every tile of every image, each by a launch of its own, and puts them together, [batch,
 * channels, height, width] flat.
 */
const loadTiles = async (
  images: readonly Image[],
  layout: Layout,
  { device, precision }: Target,
  onSession: (session: Session) => void = () => undefined
): Promise<readonly number[]> => {
  const { channels } = images[0]!
  const block = channelBlock(layout, channels)
  const elementBytes = precision === 'float64' ? 8 : 4
  const tileElements = Math.ceil(channels / block) * block * tileHeight * tileWidth
  const [across, down] = [width / tileWidth, height / tileHeight]
  const kernel: Kernel = {
    ...{ kind: 'loadImage', batch: 1, channels, height: tileHeight, width: tileWidth, layout: layoutCode(layout) },
    ...{ fullHeight: height, fullWidth: width },
    normalisation: Array.from({ length: channels }, (_, channel) => [mean[channel]!, deviation[channel]!]).flat()
  }
  const strides = [across * down, across, 1].map((tiles) => tiles * tileElements * elementBytes) as [number, number, number]
  const one = launch(0, stepIo(0, strides), index(0, [1, 0, 0]), index(0, [0, tileHeight, 0]), index(0, [0, 0, tileWidth]))
  const code = [loop('B', images.length, loop('H', down, loop('W', across, one)))]
  const stepIoBytes = images.length * across * down * tileElements * elementBytes
  const session = must(open({ kernels: [kernel], code, stepIoBytes, precision, input: [images.length, channels, height, width] }, device))
  onSession(session)
  const buffer = new ArrayBuffer(stepIoBytes)
  must(await session.run('step', buffer, parameters, images)())
  session.close()
  const found = precision === 'float64' ? new Float64Array(buffer) : new Float32Array(buffer)
  const tileAt = (image: number, y: number, x: number): number =>
    ((image * down + Math.floor(y / tileHeight)) * across + Math.floor(x / tileWidth)) * tileElements
  const within = (c: number, y: number, x: number): number =>
    ((Math.floor(c / block) * tileHeight + (y % tileHeight)) * tileWidth + (x % tileWidth)) * block + (c % block)
  return images.flatMap((_, image) =>
    Array.from({ length: channels * height * width }, (__, i) => {
      const [c, y, x] = [Math.floor(i / (height * width)), Math.floor(i / width) % height, i % width]
      return found[tileAt(image, y, x) + within(c, y, x)]!
    })
  )
}

for (const target of targets)
  for (const layout of ['plain', 'nChw8c'] as const)
    for (const channels of [1, 3, 4])
      test(`turns and flips ${channels} channels tile by tile, ${layout}, ${target.device} ${target.precision}`, async () => {
        for (const flipHorizontal of [false, true])
          for (const flipVertical of [false, true]) {
            // One image is exactly its crop; the others are larger, and every crop ends at the
            // image's last row and column.
            const images = ([0, 1, 2, 3] as const).map((quarterTurns): Held => {
              const [rows, columns] = quarterTurns % 2 === 1 ? [width, height] : [height, width]
              const corner = { cropTop: quarterTurns, cropLeft: 2 * quarterTurns }
              const image = pixelsOf(rows + corner.cropTop, columns + corner.cropLeft, channels, 7 * quarterTurns)
              return { ...image, ...corner, flipHorizontal, flipVertical, quarterTurns }
            })
            close(await loadTiles(images, layout, target), expectedOf(images), target)
          }
      })

/** Values of the type, those at its ends among them. */
const elementsOf = (type: PixelType, length: number): Elements => {
  const ends = { uint8: [0, 255], uint16: [0, 65535], int16: [-32768, 32767], float32: [-1.5e9, 3.25e-7] }[type]
  const elements = newElements(type, length)
  for (let i = 0; i < length; i += 1)
    elements[i] = ends[i] ?? (type === 'float32' ? Math.sin(i) * 1e4 : Math.imul(i + 1, 2654435761) >>> 16)
  return elements
}

for (const target of targets)
  for (const elementType of ['uint8', 'uint16', 'int16', 'float32'] as const)
    for (const [channels, layout] of [
      [1, 'plain'],
      [3, 'nChw8c'],
      [13, 'nChw8c'],
      [64, 'plain']
    ] as const)
      test(`${channels} channels of ${elementType} are loaded as they are, ${layout}, ${target.device} ${target.precision}`, async () => {
        const elements = elementsOf(elementType, width * height * channels)
        const image: Image = {
          ...pixelsOf(width, height, channels, 1),
          ...{ pixels: asBytes(elements), elementType, flipHorizontal: true, quarterTurns: 1 }
        }
        const whole = { ...image, pixels: Uint8Array.from({ length: width * height * channels }, (_, i) => i % channels) } as Held
        // Where each element of the batch comes from, by an image that holds its pixels' numbers.
        const places = cropped({ ...whole, channels: 1, pixels: Uint8Array.from({ length: width * height }, (_, i) => i) })
        const scale = elementType === 'uint8' ? 255 : 1
        const expected = Array.from({ length: channels }, (_, c) =>
          places.flatMap((row) => row.map(([place]) => (elements[place! * channels + c]! / scale - mean[c]!) / deviation[c]!))
        ).flat()
        const read = await loadTiles([image], layout, target)
        assert.ok(read.every((value, i) => Math.abs(value - expected[i]!) <= 1e-6 * Math.max(1, Math.abs(expected[i]!))))
        const windows = readFrom(
          { ...whole, pixels: image.pixels as Uint8Array, channels: pixelBytes({ elementType, channels }) },
          64,
          [],
          single
        )
        assert.equal(await loadTiles([{ ...image, pixels: windows }], layout, target), read)
      })

for (const target of targets)
  test(`pixels of a file load as those in memory, ${target.device} ${target.precision}`, async () => {
    const file = join(temporaryFolder(), 'pixels')
    const held = pixelsOf(height + 1, width + 2, 3, 11)
    writeFileSync(file, Buffer.concat([Buffer.alloc(7), held.pixels]))
    const mapped: Image = { ...held, pixels: must(mapPixels(file, 7, held.pixels.length)) }
    rmSync(file)
    assert.equal(await loadTiles([mapped], 'plain', target), await loadTiles([held], 'plain', target))
  })

/** Pixels that are read as the device asks for them, and what it asked for. */
const readFrom = (
  { pixels, width: across, channels }: Held,
  windowBytes: number,
  asked: ImageWindow[],
  tile: ReadPixels['tile']
): ReadPixels => ({
  windowBytes,
  tile,
  readWindow: (window) => {
    asked.push(window)
    const rows = Array.from({ length: window.height }, (_, row) => ((window.top + row) * across + window.left) * channels)
    return TE.fromIO(() => Uint8Array.from(rows.flatMap((from) => [...pixels.subarray(from, from + window.width * channels)])))
  }
})

for (const target of targets)
  test(`windows that are read as they are needed load as pixels in memory, ${target.device} ${target.precision}`, async () => {
    for (const windowBytes of [1, tileWidth * 3, tileWidth * 3 + 5, 2 ** 20])
      for (const flips of [0, 1, 2, 3]) {
        const tile = { height: 1 + flips, width: 4 - flips }
        const images = ([0, 1, 2, 3] as const).map((quarterTurns): Held => {
          const [rows, columns] = quarterTurns % 2 === 1 ? [width, height] : [height, width]
          const corner = { cropTop: quarterTurns + 1, cropLeft: 2 * quarterTurns }
          const image = pixelsOf(rows + corner.cropTop + 2, columns + corner.cropLeft + 1, 3, 7 * quarterTurns)
          return { ...image, ...corner, flipHorizontal: flips % 2 === 1, flipVertical: flips > 1, quarterTurns }
        })
        const asked: ImageWindow[] = []
        const read = images.map((image): Image => ({ ...image, pixels: readFrom(image, windowBytes, asked, tile) }))
        assert.equal(await loadTiles(read, 'plain', target), await loadTiles(images, 'plain', target))
        // Every pixel of the crops once, and no more at a time than is allowed.
        const areas = asked.map((window) => window.height * window.width)
        assert.is(
          areas.reduce((sum, area) => sum + area, 0),
          images.length * height * width
        )
        assert.ok(Math.max(...areas) <= Math.max(1, windowBytes / 3))
        if (windowBytes === 2 ** 20) assert.is(Math.max(...areas), tileHeight * tileWidth)
      }
  })

test('windows end where tiles of their file end, so that a part of an image decodes none twice', async () => {
  const tile = { height: 2, width: 2 }
  const held = pixelsOf(height, width, 3, 5)
  const asked: ImageWindow[] = []
  const image: Image = { ...held, pixels: readFrom(held, tile.height * tile.width * 3, asked, tile) }
  assert.equal(await loadTiles([image], 'plain', targets[0]), await loadTiles([held], 'plain', targets[0]))
  // Columns 0 to 2 and 3 to 5 of the image, of tiles that begin at 0, 2 and 4.
  const columns = [
    [0, 2],
    [2, 1],
    [3, 1],
    [4, 2]
  ] as const
  assert.equal(
    asked,
    [0, 2].flatMap((top) => columns.map(([left, across]) => ({ top, left, height: 2, width: across })))
  )
})

test('a window that is refused fails the section with its sentence, and so does one of another size', async () => {
  const held = pixelsOf(height, width, 3, 1)
  const refusing: Image = { ...held, pixels: { windowBytes: 64, tile: single, readWindow: () => TE.left({ message: 'the tile is cut' }) } }
  await loadTiles([refusing], 'plain', targets[0]).then(
    () => assert.unreachable(),
    ({ message }: Error) => assert.is(message, 'the tile is cut')
  )
  const short: Image = { ...held, pixels: { windowBytes: 64, tile: single, readWindow: () => TE.right(new Uint8Array(5)) } }
  await loadTiles([short], 'plain', targets[0]).then(
    () => assert.unreachable(),
    ({ message }: Error) => assert.match(message, /a window of 18 bytes was answered with 5/)
  )
})

test('an interrupt ends a section that waits for a window', async () => {
  const never = new Promise<E.Either<never, Uint8Array>>(() => undefined)
  let interrupt: () => void = () => undefined
  const waiting: Image = {
    ...pixelsOf(height, width, 3, 1),
    pixels: { windowBytes: 64, tile: single, readWindow: () => () => (setTimeout(() => interrupt(), 20), never) }
  }
  await loadTiles([waiting], 'plain', targets[0], (session) => (interrupt = session.interrupt)).then(
    () => assert.unreachable(),
    ({ message }: Error) => assert.match(message, /section step was interrupted before its end/)
  )
})

test('what is no part of a file, or of another size than its image, is refused', async () => {
  const file = join(temporaryFolder(), 'pixels')
  writeFileSync(file, Buffer.alloc(72))
  assert.match(left(mapPixels(file, 8, 65)).message, /pixels: has 72 bytes, too few for 65 from 8 on$/)
  assert.match(left(mapPixels(`${file}.none`, 0, 1)).message, /cannot be opened \(No such file or directory\)$/)
  const image = { ...pixelsOf(height, width, 3, 1), pixels: must(mapPixels(file, 0, 71)) }
  await loadTiles([image], 'plain', targets[0]).then(
    () => assert.unreachable(),
    ({ message }: Error) => assert.match(message, /an image of 4x6x3 has 71 bytes instead of 72/)
  )
})

test('a load is timed in little memory, however large its image is', () => {
  const timer = must(createKernelTimer({ device: 'cpu', precision: 'float32', threads: 1 }))
  const [milliseconds] = must(
    timer.milliseconds([
      {
        ...{ kind: 'loadImage', batch: 1, channels: 3, height: 2, width: 3, layout: layoutCode('plain') },
        ...{ fullHeight: 2 ** 20, fullWidth: 2 ** 20, normalisation: [0, 1, 0, 1, 0, 1] }
      }
    ])
  )
  assert.type(milliseconds, 'number', String(milliseconds))
})

test('a quarter turn takes the right column to the top row', async () => {
  const image: Held = { ...pixelsOf(width, height, 1, 3), quarterTurns: 1 }
  const row = (await loadTiles([image], 'plain', targets[0])).slice(0, width)
  const column = Array.from({ length: width }, (_, y) => (image.pixels[y * height + height - 1]! / 255 - mean[0]!) / deviation[0]!)
  assert.equal(row, column)
})

const colour = Float32Array.of(0.9, 0.2, -0.1, 0.1, 0, 1.5, 0, -0.2, 0.3, 0.3, 0.3, 0)
const mixed = (pixel: Pixel, { colour: matrix }: Image): Pixel =>
  matrix === undefined
    ? pixel
    : [0, 4, 8].map((row) => {
        const sum = pixel.reduce((total, value, k) => total + matrix[row + k]! * value, 0) + matrix[row + 3]!
        return Math.min(1, Math.max(0, sum))
      })

for (const target of targets)
  for (const layout of ['plain', 'nChw8c'] as const)
    test(`mixes colours before it normalises, an image at a time, ${layout}, ${target.device} ${target.precision}`, async () => {
      const images: readonly Held[] = [
        { ...pixelsOf(height, width, 3, 1), colour },
        pixelsOf(height, width, 3, 2),
        { ...pixelsOf(width + 1, height + 1, 3, 3), cropTop: 1, cropLeft: 1, flipVertical: true, quarterTurns: 3, colour }
      ]
      const expected = expectedOf(images, mixed)
      // Green is taken beyond both ends here.
      const green = expected.slice(height * width, 2 * height * width)
      assert.ok([0, 1].every((end) => green.includes((end - mean[1]!) / deviation[1]!)))
      close(await loadTiles(images, layout, target), expected, target)
    })

test('the identity of colours changes no bit', async () => {
  const identity = Float32Array.of(1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0)
  const image: Image = { ...pixelsOf(width, height, 3, 5), quarterTurns: 1, flipHorizontal: true }
  for (const target of targets)
    for (const layout of ['plain', 'nChw8c'] as const)
      assert.equal(await loadTiles([{ ...image, colour: identity }], layout, target), await loadTiles([image], layout, target))
})

test('refuses a turned crop that leaves its image, and a colour that is not finite', async () => {
  const kernel: Kernel = {
    ...{ kind: 'loadImage', batch: 1, channels: 3, height, width, layout: 0, fullHeight: height, fullWidth: width },
    normalisation: [0, 1, 0, 1, 0, 1]
  }
  const stepIoBytes = 8 * 3 * height * width
  const code = [launch(0, stepIo(0), index(0), index(0), index(0))]
  const session = must(open({ kernels: [kernel], code, stepIoBytes, input: [1, 3, height, width] }))
  const run = (image: Image) => session.run('step', new ArrayBuffer(stepIoBytes), parameters, [image])()
  const [lying, standing] = [pixelsOf(height, width, 3, 1), pixelsOf(width, height, 3, 1)]
  must(await run({ ...lying, quarterTurns: 2 }))
  must(await run({ ...standing, quarterTurns: 3 }))
  const sentence = 'image 0 of 4x6 does not hold a crop of 6x4 at row 0, column 0, to be turned on its side'
  assert.is(left(await run({ ...lying, quarterTurns: 1 })).message, sentence)
  assert.ok(left(await run(standing)).message.includes('of 6x4 does not hold a crop of 4x6'))
  assert.ok(left(await run({ ...standing, quarterTurns: 3, cropTop: 1 })).message.includes('a crop of 6x4 at row 1, column 0'))
  for (const wrong of [NaN, Infinity])
    assert.is(
      left(await run({ ...lying, colour: new Float32Array(12).fill(wrong, 11) })).message,
      'image 0 has a colour that is not 12 finite numbers'
    )
  session.close()
})

test.run()
