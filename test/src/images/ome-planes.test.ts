/** OME-TIFF whose channels are pages of their own, as microscopes write them. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { predict, train } from '../../../src'
import { imageNotices } from '../../../src/images/image-notices'
import { openImage } from '../../../src/images/image-source'
import { asBytes, asElements } from '../../../src/images/samples'
import { writePng } from '../image-files'
import { failureOf, valueOf } from '../outcome'
import segmenting from '../segmenting-model'
import { temporaryFolder } from '../temporary-folder'
import { type TiledLevel, writeTiledPages } from '../tiled-tiff'

const folder = temporaryFolder()
const at = (name: string): string => join(folder, name)
const [height, width] = [70, 50]

/** A value that tells its channel, depth and time, level and place. */
const valueAt = (plane: number, level: number, index: number): number => (5000 * plane + 2000 * level + index) % 65536
const levelOf = (plane: number, level: number): TiledLevel => {
  const extent = { height: height >> level, width: width >> level }
  const values = Uint16Array.from({ length: extent.height * extent.width }, (_, index) => valueAt(plane, level, index))
  return { ...extent, pixels: asBytes(values) }
}

const ome = (attributes: string, tiffData = ''): string =>
  `<?xml version="1.0" encoding="UTF-8"?><!-- made by a test --><OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06">` +
  `<Image ID="Image:0"><Pixels ID="Pixels:0" Type="uint16" SizeX="${width}" SizeY="${height}" ` +
  `PhysicalSizeX="0.5" PhysicalSizeY="0.5" ${attributes}>${tiffData}</Pixels></Image></OME>`

const write = (name: string, planes: number, description: string, levels = 1): string => {
  const pages = Array.from({ length: planes }, (_, plane) => Array.from({ length: levels }, (__, level) => levelOf(plane, level)))
  writeTiledPages(at(name), pages, { tile: 16, channels: 1, elementType: 'uint16', description })
  return at(name)
}

const window = { top: 5, left: 3, height: 20, width: 15 }
const expected = (planes: readonly number[], level = 0): readonly number[] =>
  Array.from({ length: window.height * window.width }, (_, pixel) => {
    const [row, column] = [window.top + Math.floor(pixel / window.width), window.left + (pixel % window.width)]
    return planes.map((plane) => valueAt(plane, level, row * (width >> level) + column))
  }).flat()

const pixelsOf = async (path: string, level = 0, bands?: readonly number[]): Promise<readonly number[]> => {
  const { read, elementType } = await valueOf(openImage(path, { level, ...(bands && { bands }) }))
  assert.is(elementType, 'uint16')
  return [...asElements('uint16', await valueOf(read!(window)))]
}

test('the order of dimensions says which page is which channel; TiffData may say it otherwise', async () => {
  const sizes = 'SizeC="3" SizeZ="2" SizeT="1"'
  for (const [order, data, planes] of [
    ['XYZCT', '', [0, 2, 4]],
    ['XYCZT', '', [0, 1, 2]],
    ['XYTZC', '<TiffData/>', [0, 2, 4]],
    ['XYZCT', '<TiffData IFD="0" PlaneCount="6"/>', [0, 2, 4]],
    ['XYCZT', [5, 3, 1].map((page, channel) => `<TiffData IFD="${page}" FirstC="${channel}"/>`).join(''), [5, 3, 1]]
  ] as const) {
    const path = write('order.ome.tif', 6, ome(`DimensionOrder="${order}" ${sizes}`, data))
    assert.equal(await pixelsOf(path), expected(planes), `${order} ${data}`)
    assert.equal(await pixelsOf(path, 0, [3, 1]), expected([planes[2], planes[0]]))
    const { header } = await valueOf(openImage(path))
    assert.match(imageNotices([{ path, header }]).join(), /order\.ome\.tif has several depths or times, of which the first is read$/)
  }
})

test('planes have levels below them, and micrometres', async () => {
  const path = write('pyramid.ome.tif', 4, ome('DimensionOrder="XYCZT" SizeC="4" SizeZ="1" SizeT="1"'), 2)
  const { header, channels } = await valueOf(openImage(path, { micronsPerPixel: 1 }))
  assert.equal([channels, header.height, header.width, header.levels.length, header.view.micronsPerPixel], [4, 35, 25, 2, 1])
  assert.equal(imageNotices([{ path, header }]), [])
  for (const level of [0, 1]) assert.equal(await pixelsOf(path, level), expected([0, 1, 2, 3], level))
})

test('planes that are not there, or of several sizes, are named', async () => {
  const description = ome('DimensionOrder="XYCZT" SizeC="3" SizeZ="1" SizeT="1"')
  assert.match(
    (await failureOf(openImage(write('cut.ome.tif', 2, description)))).message,
    /^the image .*cut\.ome\.tif is an OME-TIFF of 3 channels, of which number 3 is not in this file: store all of them in one file$/
  )
  const planes = [levelOf(0, 0), levelOf(1, 0), levelOf(2, 1)].map((level) => [level])
  writeTiledPages(at('odd.ome.tif'), planes, { tile: 16, channels: 1, elementType: 'uint16', description })
  assert.match((await failureOf(openImage(at('odd.ome.tif')))).message, /number 3 is 35x25, or of other samples, where the first is 70x50/)
})

test('planes of other files are not those of this one, whatever it is called', async () => {
  const sizes = 'DimensionOrder="XYCZT" SizeC="2" SizeZ="1" SizeT="1"'
  const run = (channel: number, page: number, name: string, uuid: string): string =>
    `<TiffData IFD="${page}" FirstC="${channel}"><UUID FileName="${name}">urn:uuid:${uuid}</UUID></TiffData>`
  const inTwo = [run(0, 0, 'a.ome.tif', 'a'), run(1, 0, 'b.ome.tif', 'b')].join('')
  const inOne = [run(0, 1, 'a.ome.tif', 'a'), run(1, 0, 'a.ome.tif', 'a')].join('')
  const named = (description: string): string => description.replace('<OME ', '<OME UUID="urn:uuid:a" ')
  for (const description of [ome(sizes, inTwo), named(ome(sizes, inTwo))])
    assert.match(
      (await failureOf(openImage(write('a.ome.tif', 2, description)))).message,
      /a\.ome\.tif is an OME-TIFF of 2 channels, of which number 2 is not in this file: store all of them in one file$/
    )
  assert.equal(await pixelsOf(write('a.ome.tif', 2, ome(sizes, inOne))), expected([1, 0]))
  assert.equal(await pixelsOf(write('renamed.ome.tif', 2, named(ome(sizes, inOne)))), expected([1, 0]))
})

test('any number of channels that a file claims is refused in a moment', async () => {
  const description = ome('DimensionOrder="XYCZT" SizeC="4294967295" SizeZ="1" SizeT="1"')
  assert.match(
    (await failureOf(openImage(write('many.ome.tif', 2, description)))).message,
    /is an OME-TIFF of 4294967295 channels, of which number 3 is not in this file/
  )
})

test('names of OME-XML may have a prefix', async () => {
  const description = ome('DimensionOrder="XYCZT" SizeC="2" SizeZ="1" SizeT="1"')
    .replace('xmlns=', 'xmlns:ome=')
    .replace(/<(\/?)(OME|Image|Pixels)/g, '<$1ome:$2')
  const { channels, header } = await valueOf(openImage(write('prefix.ome.tif', 2, description)))
  assert.equal([channels, header.view.micronsPerPixel], [2, 0.5])
})

test('what reads other channels than there are is told how to name them', async () => {
  const path = write('five.ome.tif', 5, ome('DimensionOrder="XYCZT" SizeC="5" SizeZ="1" SizeT="1"'))
  assert.match(
    (await failureOf(openImage(path, { level: 0, channels: 3 }))).message,
    /five\.ome\.tif has 5 channels of uint16 where the network reads 3: give --bands with 3 of them/
  )
  const { header, channels } = await valueOf(openImage(path, { level: 0, channels: 2, bands: [5, 2] }))
  assert.equal([channels, header.pages], [2, 1])
})

test('where channels are pages of a TIFF that is no OME-TIFF, the refusal says that one of them is read', async () => {
  const { message } = await failureOf(openImage(write('pages.tif', 4, 'ImageJ=1.11a'), { level: 0, channels: 4 }))
  assert.match(
    message,
    /has 1 channel of uint16 in the first of its 4 pages, which alone is read \(store .* or as OME-TIFF\), where the network reads 4: give --bands/
  )
})

test('training and prediction read planes', async () => {
  write('data.ome.tif', 4, ome('DimensionOrder="XYCZT" SizeC="4" SizeZ="1" SizeT="1"'))
  const classes = Uint8Array.from({ length: height * width }, (_, index) => (index >> 3) % 3)
  writePng(at('mask.png'), classes, { height, width, bitDepth: 8 })
  writeFileSync(at('data.csv'), 'path,mask\ndata.ome.tif,mask.png\ndata.ome.tif,mask.png\n')
  const common = { model: segmenting, device: 'reference', threads: 1 } as const
  const { loss } = await valueOf(
    train({ ...common, input: [2, 4, 32, 16], seed: 5, steps: 3, data: at('data.csv'), save: at('planes.safetensors') })
  )
  assert.ok(loss.every(Number.isFinite), `${loss.join()}`)
  const { pixels } = await valueOf(
    predict({ ...common, weights: at('planes.safetensors'), image: at('data.ome.tif'), out: at('found.tif') })
  )
  assert.is(
    pixels?.reduce((sum, count) => sum + count),
    height * width
  )
})

test.run()
