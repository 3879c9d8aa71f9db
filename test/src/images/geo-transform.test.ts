/** Where images lie on the ground, as GeoTIFF says it. */
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { openImage } from '../../../src/images/image-source'
import { shiftGeoTransform } from '../../../src/images/tiff/geo-transform'
import { valueOf } from '../outcome'
import { temporaryFolder } from '../temporary-folder'
import { type Field, type TiledLevel, writeTiledTiff } from '../tiled-tiff'

const path = join(temporaryFolder(), 'ground.tif')
const level = (height: number, width: number): TiledLevel => ({ height, width, pixels: new Uint8Array(height * width * 3) })
/**
 * A directory of keys: version 1.1.0, and the code of the coordinate system; values stand in it, or
 * in the tag that is named.
 */
const keys = (...entries: readonly (readonly [key: number, value: number, tag?: number])[]): Field => [
  34735,
  3,
  [1, 1, 0, entries.length, ...entries.flatMap(([key, value, tag = 0]) => [key, tag, 1, value])]
]
const geoTransformOf = async (tags: readonly Field[], at = 0, levels = [level(40, 60)]) => {
  writeTiledTiff(path, levels, { tile: 16, channels: 3, tags })
  const { header } = await valueOf(openImage(path, { level: at }))
  return header.geoTransform
}
const scale: Field = [33550, 12, [10, 20, 0]]
const point: Field = [33922, 12, [2, 1, 0, 500_000, 5_300_000, 0]]

test('a scale and a point tell where the corner lies, and the key of a projected system its code', async () => {
  assert.equal(await geoTransformOf([scale, point, keys([1024, 1], [3072, 32633])]), {
    affine: [499_980, 10, 0, 5_300_020, 0, -20],
    epsg: 32633
  })
  assert.equal(await geoTransformOf([scale, point, keys([2048, 4326])]), {
    affine: [499_980, 10, 0, 5_300_020, 0, -20],
    epsg: 4326,
    isGeodetic: true
  })
})

test('points of pixels lie half a pixel off; systems of the file itself have no code', async () => {
  const geoTransform = await geoTransformOf([scale, point, keys([1025, 2], [3072, 32767])])
  assert.equal(geoTransform, { affine: [499_975, 10, 0, 5_300_030, 0, -20] })
})

test('a scale of 0 tells no place, and a negative one down is taken as GDAL takes it: rows go south', async () => {
  assert.is(await geoTransformOf([[33550, 12, [0, 0, 0]], point]), undefined)
  assert.is(await geoTransformOf([[34264, 12, Array<number>(16).fill(0)]]), undefined)
  assert.equal((await geoTransformOf([[33550, 12, [10, -20, 0]], point]))!.affine, [499_980, 10, 0, 5_300_020, 0, -20])
})

test('of a scale and a point beside a transformation these count, as with GDAL', async () => {
  const turned: Field = [34264, 12, [3, 4, 0, 100, 4, -3, 0, 200, 0, 0, 0, 0, 0, 0, 0, 1]]
  assert.equal((await geoTransformOf([scale, point, turned]))!.affine, [499_980, 10, 0, 5_300_020, 0, -20])
  assert.equal((await geoTransformOf([[33550, 12, [0, 0, 0]], point, turned]))!.affine, [100, 3, 4, 200, 4, -3])
})

test('a code of 0 is none, nor is what stands in another tag', async () => {
  const affine = [499_980, 10, 0, 5_300_020, 0, -20]
  assert.equal(await geoTransformOf([scale, point, keys([3072, 0])]), { affine })
  assert.equal(await geoTransformOf([scale, point, keys([2048, 0])]), { affine })
  assert.equal(await geoTransformOf([scale, point, keys([3072, 5, 34736])]), { affine })
})

test('a transformation may turn the image', async () => {
  const turned: Field = [34264, 12, [3, 4, 0, 100, 4, -3, 0, 200, 0, 0, 0, 0, 0, 0, 0, 1]]
  assert.equal(await geoTransformOf([turned]), { affine: [100, 3, 4, 200, 4, -3] })
  assert.equal(shiftGeoTransform((await geoTransformOf([turned]))!, { top: 10, left: 2 }), { affine: [146, 3, 4, 178, 4, -3] })
})

test('a level lies on the same ground, and what says nothing lies nowhere', async () => {
  assert.equal((await geoTransformOf([scale, point], 1, [level(40, 60), level(20, 30)]))!.affine, [499_980, 20, 0, 5_300_020, 0, -40])
  assert.is(await geoTransformOf([]), undefined)
  assert.is(await geoTransformOf([scale]), undefined)
})

test.run()
