/** Tiles of files are decoded once for windows that follow each other. */
import fc from 'fast-check'
import * as TE from 'fp-ts/TaskEither'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { inputFailure } from '../../../src/failure'
import { keepingTiles, keptTilesBytes } from '../../../src/images/decoded-tiles'
import type { ReadWindow } from '../../../src/images/read-window'
import type { ImageWindow } from '../../../native'
import { must } from '../../must'
import { propertyRuns } from '../../property-runs'

const pixelBytes = 2

/** Pixels that tell their place, and the image. */
const pixelsOf = ({ top, left, height, width }: ImageWindow, image: number): Uint8Array =>
  Uint8Array.from({ length: height * width * pixelBytes }, (_, at) => {
    const pixel = Math.floor(at / pixelBytes)
    return (31 * (top + Math.floor(pixel / width)) + 7 * (left + (pixel % width)) + 3 * (at % pixelBytes) + image) % 256
  })

const imageOf = (image: number, windows: ImageWindow[]): ReadWindow =>
  ((window) => {
    windows.push(window)
    return TE.right(pixelsOf(window, image))
  }) satisfies ReadWindow

const within = (extent: number): fc.Arbitrary<readonly [from: number, count: number]> =>
  fc.integer({ min: 0, max: extent - 1 }).chain((from) => fc.integer({ min: 1, max: extent - from }).map((count) => [from, count] as const))

test('windows of several images have the pixels that the file has there', async () => {
  const images = fc.record({ height: fc.integer({ min: 1, max: 40 }), width: fc.integer({ min: 1, max: 40 }) }).chain((image) =>
    fc.record({
      image: fc.constant(image),
      tile: fc.record({ height: fc.integer({ min: 1, max: 16 }), width: fc.integer({ min: 1, max: 16 }) }),
      windows: fc.array(fc.tuple(within(image.height), within(image.width), fc.integer({ min: 0, max: 1 })), { maxLength: 12 })
    })
  )
  await fc.assert(
    fc.asyncProperty(images, async ({ image, tile, windows }) => {
      const readers = [0, 1].map((one) => keepingTiles(imageOf(one, []), tile, image, pixelBytes))
      for (const [[top, height], [left, width], one] of windows) {
        const window = { top, left, height, width }
        assert.equal(must(await readers[one]!(window)()), pixelsOf(window, one))
      }
    }),
    propertyRuns(200)
  )
})

test('a tile that lies in several windows is decoded once, and what holds whole tiles is read as it is', async () => {
  const windows: ImageWindow[] = []
  const image = { height: 64, width: 96 }
  const read = keepingTiles(imageOf(0, windows), { height: 32, width: 32 }, image, pixelBytes)
  for (let top = 0; top < 60; top += 10) for (let left = 0; left < 90; left += 10) must(await read({ top, left, height: 14, width: 14 })())
  const decoded = windows.reduce((sum, { height, width }) => sum + height * width, 0)
  assert.is(decoded, image.height * image.width)
  const whole = { top: 32, left: 0, height: 32, width: 96 }
  must(await read(whole)())
  assert.equal(windows.at(-1), whole)
})

test('two windows that are read at once, of tiles that they share, have their pixels', async () => {
  const file = imageOf(0, [])
  const slow: ReadWindow = (window) => () => new Promise((done) => setImmediate(() => void file(window)().then(done)))
  const read = keepingTiles(slow, { height: 8, width: 8 }, { height: 32, width: 32 }, pixelBytes)
  const windows = [3, 5, 7].map((left) => ({ top: 3, left, height: 9, width: 9 }))
  for (const [at, found] of (await Promise.all(windows.map((window) => read(window)()))).entries())
    assert.equal(must(found), pixelsOf(windows[at]!, 0))
})

test('a window that cannot be read fails, and is read once it can be', async () => {
  const windows: ImageWindow[] = []
  let isBroken = true
  const file = imageOf(0, windows)
  const read = keepingTiles(
    (window) => (isBroken ? TE.left(inputFailure('broken')) : file(window)),
    { height: 8, width: 8 },
    { height: 32, width: 32 },
    pixelBytes
  )
  const window = { top: 3, left: 3, height: 9, width: 9 }
  assert.is((await read(window)())._tag, 'Left')
  isBroken = false
  assert.equal(must(await read(window)()), pixelsOf(window, 0))
})

test('more than is kept pushes the oldest out, which is decoded again', async () => {
  const windows: ImageWindow[] = []
  const tile = { height: 1024, width: 1024 }
  const count = keptTilesBytes / (tile.height * tile.width * pixelBytes) + 1
  const read = keepingTiles(imageOf(0, windows), tile, { height: 1024, width: 1024 * count }, pixelBytes)
  const windowAt = (index: number): ImageWindow => ({ top: 5, left: 1024 * index + 5, height: 3, width: 3 })
  for (const index of [...Array(count).keys(), count - 1, 0])
    assert.equal(must(await read(windowAt(index))()), pixelsOf(windowAt(index), 0))
  assert.is(windows.length, count + 1)
})

test.run()
