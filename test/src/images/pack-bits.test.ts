/** PackBits of TIFF: all of its headers, and data that are cut. */
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { openImage } from '../../../src/images/image-source'
import { failureOf, valueOf } from '../outcome'
import { temporaryFolder } from '../temporary-folder'
import { writeTiledTiff } from '../tiled-tiff'

const path = join(temporaryFolder(), 'packed.tif')
const side = 16
const window = { top: 0, left: 0, height: side, width: side }
const pixels = Uint8Array.from({ length: side * side }, (_, index) => (index < 128 ? 7 : index))
/** 128 times 7, then the others as they are; 128 stands for nothing, wherever it is. */
const packed = Buffer.from([128, 129, 7, 128, 128, 127, ...pixels.subarray(128), 128])

const write = (data: Buffer): void =>
  writeTiledTiff(path, [{ height: side, width: side, pixels }], { tile: side, channels: 1, compression: 32773, compress: () => data })

test('runs, bytes as they are, and what stands for nothing', async () => {
  write(packed)
  for (const reading of [undefined, { level: 0, bands: [1, 1, 1] }]) {
    const { read } = await valueOf(openImage(path, reading))
    assert.equal(
      [...(await valueOf(read!(window)))].filter((_, index) => index % 3 === 0),
      [...pixels]
    )
  }
})

test('data that are cut are refused', async () => {
  for (const length of [100, 2]) {
    write(packed.subarray(0, length))
    const { read } = await valueOf(openImage(path, { level: 0, bands: [1] }))
    assert.match((await failureOf(read!(window))).message, /packed\.tif cannot be read at .*: it ends before all of its values; it is cut/)
  }
})

test.run()
