/** Slides by OpenSlide, where it is installed. */
import { closeSync, existsSync, mkdirSync, openSync, writeFileSync, writeSync } from 'node:fs'
import { join, relative } from 'node:path'
import { deflateSync } from 'node:zlib'
import * as E from 'fp-ts/Either'
import sharp from 'sharp'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type Slide, openSlide } from '../../../native'
import { predict, readDataset, train } from '../../../src'
import { openImage } from '../../../src/images/image-source'
import { isSlide } from '../../../src/images/tiff/slide-format'
import { readTiffDirectories } from '../../../src/images/tiff/directories'
import { listImages } from '../../../src/predicting/listed-images'
import { must } from '../../must'
import { root, runScript } from '../command-line'
import { noise } from '../example-images'
import { failureOf, valueOf } from '../outcome'
import segmenting from '../segmenting-model'
import { temporaryFolder } from '../temporary-folder'
import { writeTiledTiff } from '../tiled-tiff'

const folder = temporaryFolder()
const at = (name: string): string => join(folder, name)
/** OpenSlide reads any TIFF in tiles whose smaller pages say that they are. */
const pyramid = [
  [200, 120],
  [100, 60]
].map(([height, width], seed) => ({
  height: height!,
  width: width!,
  pixels: noise(height! * width! * 3, seed)
}))
writeTiledTiff(at('plain.tif'), pyramid, { tile: 16, channels: 3 })
const absent = openSlide(at('nothing.tif'))
const isMissing = E.isLeft(absent) && /which is not installed/.test(absent.left.message)
if (isMissing) console.log('OpenSlide is not installed: what it reads is skipped')
const withLibrary = isMissing ? test.skip : test

/** Compressed, since OpenSlide refuses tiles that are not. */
const openPyramid = (): Slide => {
  writeTiledTiff(at('slide.tif'), pyramid, { tile: 16, channels: 3, compression: 8, compress: deflateSync })
  return must(openSlide(at('slide.tif')))
}

const differing = (one: Uint8Array, other: Uint8Array): number =>
  one.length === other.length ? one.filter((value, index) => value !== other[index]).length : NaN

withLibrary('OpenSlide gives the pixels of each level that the other decoder gives', async () => {
  const slide = openPyramid()
  assert.is(slide.vendor, 'generic-tiff')
  for (const [level, { height, width }] of slide.levels.entries()) {
    const { read } = await valueOf(openImage(at('slide.tif'), { level }))
    for (const window of [
      { top: 0, left: 0, height, width },
      { top: 14, left: 6, height: 11, width: 17 }
    ])
      assert.is(differing(must(await slide.read(level, window)()), await valueOf(read!(window))), 0)
  }
  assert.ok(slide.levels.length > 1)
})

withLibrary('a window of a level that is no whole number of times smaller lies where OpenSlide has it', async () => {
  const uneven = [
    [1001, 1003],
    [250, 250]
  ].map(([height, width], seed) => ({ height: height!, width: width!, pixels: noise(height! * width! * 3, seed) }))
  writeTiledTiff(at('uneven.tif'), uneven, { tile: 64, channels: 3, compression: 8, compress: deflateSync })
  // 4.008 times, the mean of both sides: 125 is at 501.
  const window = { top: 125, left: 125, height: 30, width: 40 }
  const { read } = await valueOf(openImage(at('uneven.tif'), { level: 1 }))
  assert.is(differing(must(await must(openSlide(at('uneven.tif'))).read(1, window)()), await valueOf(read!(window))), 0)
})

withLibrary('a window that is not there is refused, and the slide still reads', async () => {
  const slide = openPyramid()
  const outside = await slide.read(0, { top: 190, left: 0, height: 20, width: 20 })()
  assert.ok(E.isLeft(outside) && /has no such window/.test(outside.left.message))
  const beyond = await slide.read(7, { top: 0, left: 0, height: 1, width: 1 })()
  assert.ok(E.isLeft(beyond) && /has no level 7/.test(beyond.left.message))
  assert.ok(E.isRight(await slide.read(1, { top: 0, left: 0, height: 1, width: 1 })()))
})

const sample = join(__dirname, '..', '..', '..', 'examples', 'data', 'slides', 'CMU-1-Small-Region.svs')
const withSample = isMissing || !existsSync(sample) ? test.skip : test
withSample('an Aperio slide has its level and micrometres', () => {
  const { vendor, levels, micronsPerPixel } = must(openSlide(sample))
  assert.equal([vendor, levels, micronsPerPixel], ['aperio', [{ height: 2967, width: 2220 }], 0.499])
})

test('what OpenSlide reads is told by what is in the file', async () => {
  const is = async (name: string, start = '') => isSlide(at(name), await readTiffDirectories(at(name)), start)
  assert.not(await is('plain.tif'))
  writeTiledTiff(at('hamamatsu.tif'), pyramid, { tile: 16, channels: 3, tags: [[65420, 4, [1]]] })
  assert.ok(await is('hamamatsu.tif'))
  const description = '<scn xmlns="http://www.leica-microsystems.com/scn/2010/10/01"/>'
  writeTiledTiff(at('leica.tif'), pyramid, { tile: 16, channels: 3, description })
  assert.ok(await is('leica.tif'))
  writeTiledTiff(at('jpeg2000.tif'), pyramid, { tile: 16, channels: 3, compression: 33005 })
  assert.ok(await is('jpeg2000.tif'))
  writeFileSync(at('other.dcm'), 'DICM')
  assert.ok(await is('other.dcm', 'DICM'))
  assert.not(await is('other.dcm', '\x89PNG'))
  const { message } = await failureOf(openImage(at('other.dcm')))
  assert.match(message, /^the image .*other\.dcm cannot be read: it is of no format that is read/)
  for (const [name, more] of [
    ['ventana.bif', 'level=0 mag=40 quality=95'],
    ['trestle.tif', 'Background Color=E6E6E6;Objective Power=10;OverlapsXY= 16 16 8 8'],
    ['philips.tif', '<DataObject ObjectType="DPUfsImport">']
  ] as const) {
    writeTiledTiff(at(name), pyramid, { tile: 16, channels: 3, description: more })
    assert.ok(await is(name))
  }
})

test('an NDPI of more than 4 GiB, whose directory lies beyond, is one: its places have eight bytes', async () => {
  const [directoryAt, entries] = [2 ** 32 + 4096, 1]
  const head = Buffer.alloc(16)
  head.write('II*\0', 'latin1')
  head.writeBigUInt64LE(BigInt(directoryAt), 4)
  const directory = Buffer.alloc(2 + 12 * entries + 8)
  directory.writeUInt16LE(entries, 0)
  directory.writeUInt16LE(65420, 2)
  directory.writeUInt16LE(4, 4)
  directory.writeUInt32LE(1, 6)
  directory.writeUInt32LE(1, 10)
  const file = openSync(at('far.ndpi'), 'w')
  // All between is a hole, which takes no room on the disk.
  writeSync(file, head, 0, head.length, 0)
  writeSync(file, directory, 0, directory.length, directoryAt)
  closeSync(file)
  assert.ok(isSlide(at('far.ndpi'), await readTiffDirectories(at('far.ndpi')), 'II*\0'))
})

test('a VSI of Olympus is no TIFF, though its file is one: of the slide it holds a small picture alone', async () => {
  writeTiledTiff(at('small.vsi'), pyramid, { tile: 16, channels: 3 })
  assert.is(
    (await failureOf(openImage(at('small.vsi')))).message,
    `the image ${at('small.vsi')} is a VSI of Olympus, whose slide lies in a folder beside it and is not read: export it as TIFF, or leave it out`
  )
})

withLibrary('what OpenSlide says of a slide that it cannot open stands in a sentence with what to do', async () => {
  writeFileSync(at('damaged.vmu'), '[Uncompressed Virtual Microscope Specimen]\r\nNoLayers=1\r\n')
  assert.match(
    (await failureOf(openImage(at('damaged.vmu')))).message,
    /^the image .*damaged\.vmu cannot be read: OpenSlide says "Can't read map file"; it is damaged or lacks a part, so store it anew or leave it out$/
  )
})

/** What the header says in another process, which finds no library in that folder. */
const saidWithoutLibrary = async (name: string): Promise<string> => {
  const script = `require(${JSON.stringify(join(root, 'src/images/image-header'))}).readHeader(${JSON.stringify(at(name))})().then(({ left }) => console.log(left.message))`
  process.env['TILEFOLD_OPENSLIDE_PATH'] = folder
  try {
    return (await runScript(['-r', join(root, 'test/transpile.js'), '-e', script])).stdout.trim()
  } finally {
    delete process.env['TILEFOLD_OPENSLIDE_PATH']
  }
}

test('where OpenSlide is not installed, slides that only it reads say so, whatever their files begin with', async () => {
  for (const [name, start] of [
    ['alone.vms', '[Virtual Microscope Specimen]\r\nNoLayers=1\r\n'],
    ['alone.vmu', '[Uncompressed Virtual Microscope Specimen]\r\n'],
    ['alone.svslide', 'SQLite format 3\0']
  ] as const) {
    writeFileSync(at(name), start)
    assert.match(await saidWithoutLibrary(name), /alone\.\w+ is of a format that OpenSlide reads, which is not installed: install it/)
  }
})

withLibrary('a MIRAX slide without its folder is no JPEG, though its file is one', async () => {
  await sharp(pyramid[0]!.pixels, { raw: { height: 200, width: 120, channels: 3 } })
    .jpeg()
    .toFile(at('alone.mrxs'))
  assert.is(
    (await failureOf(openImage(at('alone.mrxs')))).message,
    `the image ${at('alone.mrxs')} is of a MIRAX slide, whose data are not beside it: put its folder alone there, or leave it out`
  )
})

/** As of Leica's scanners: a part that was scanned, at its place in the picture of the whole. */
const writeLeica = (name: string): void => {
  const image = (ifd: number, width: number, height: number, view: string): string =>
    `<image name="i${ifd}"><creationDate>2011-01-01</creationDate><device model="Leica SCN400"/>` +
    `<pixels sizeX="${width}" sizeY="${height}"><dimension r="0" ifd="${ifd}" sizeX="${width}" sizeY="${height}"/></pixels><view ${view}/>` +
    '<scanSettings><objectiveSettings><objective>20</objective></objectiveSettings><illuminationSettings>' +
    '<illuminationSource>brightfield</illuminationSource><numericalAperture>0.4</numericalAperture></illuminationSettings></scanSettings></image>'
  const description =
    '<?xml version="1.0"?><scn xmlns="http://www.leica-microsystems.com/scn/2010/10/01"><collection name="c" sizeX="6000" sizeY="9000"><barcode/>' +
    image(0, 120, 200, 'sizeX="3000" sizeY="5000" offsetX="1000" offsetY="2000"') +
    image(1, 60, 100, 'sizeX="6000" sizeY="9000" offsetX="0" offsetY="0"') +
    '</collection></scn>'
  writeTiledTiff(at(name), pyramid, { tile: 64, channels: 3, compression: 8, compress: deflateSync, perCentimetre: 400, description })
}

withLibrary('polygons in GeoJSON over a slide of which a part was scanned are told to count from the corner of the whole', async () => {
  writeLeica('part.scn')
  const ring = [
    [50, 90],
    [100, 90],
    [100, 200],
    [50, 200],
    [50, 90]
  ]
  const feature = {
    type: 'Feature',
    geometry: { type: 'Polygon', coordinates: [ring] },
    properties: { classification: { name: 'a' } }
  }
  writeFileSync(at('part.geojson'), JSON.stringify({ type: 'FeatureCollection', features: [feature] }))
  writeFileSync(at('part.csv'), 'path,mask\npart.scn,part.geojson\npart.scn,part.geojson\n')
  const told: string[] = []
  const common = { model: segmenting, device: 'reference', threads: 1, onNotice: (sentence: string) => void told.push(sentence) } as const
  const sentence = `the image ${at('part.scn')} has polygons in GeoJSON whose places count from the whole slide's corner: QuPath's count from the part that was scanned, unless it opens such a slide with --no-crop`
  const training = { data: at('part.csv'), input: [2, 3, 32, 32], classNames: ['a', 'b', 'c'], unannotated: 'b', steps: 1 } as const
  await valueOf(train({ ...common, ...training, save: at('part.safetensors') }))
  assert.ok(told.includes(sentence), told.join())
  for (const [out, isTold] of [
    ['part.png', false],
    ['out.geojson', true]
  ] as const) {
    told.length = 0
    await valueOf(predict({ ...common, weights: at('part.safetensors'), image: at('part.scn'), out: at(out) }))
    assert.is(told.includes(sentence), isTold, told.join())
  }
})

test('in folders a slide of several files is one image, and what it is made of is none', async () => {
  const slides = at('folders/normal')
  mkdirSync(join(slides, 'b'), { recursive: true })
  const dicom = (series: string): string => `${'\0'.repeat(128)}DICM\x20\0\x0e\0UI${String.fromCharCode(series.length)}\0${series}`
  for (const [name, text] of [
    ['a.NDPI', ''],
    ['b.mrxs', ''],
    ['c.vms', '[Virtual Microscope Specimen]\r\nNoLayers=1\r\nImageFile=c.jpg\r\nImageFile(1,0)=c(1,0).jpg\r\nMapFile=c_map2.jpg\r\n'],
    ['c.jpg', ''],
    ['c(1,0).jpg', ''],
    ['c_map2.jpg', ''],
    ['d1.dcm', dicom('1.2.34')],
    ['d2.dcm', dicom('1.2.34')],
    ['e.dcm', dicom('1.2.35')],
    ['f.dcm', 'cut'],
    ['g.scn', ''],
    ['h.bif', ''],
    ['i.svs', ''],
    ['j.jpg', ''],
    ['k.czi', ''],
    ['b/Data0000.dat', '']
  ] as const)
    writeFileSync(join(slides, name), text, 'latin1')
  const names = ['a.NDPI', 'b.mrxs', 'c.vms', 'd1.dcm', 'e.dcm', 'f.dcm', 'g.scn', 'h.bif', 'i.svs', 'j.jpg']
  const { examples, leftOut } = await valueOf(readDataset(at('folders')))
  assert.equal(
    examples.map(({ path }) => relative(slides, path)),
    names
  )
  assert.match(leftOut!, /left out are 1 \*\.czi \(normal\/k\.czi\); what is read/)
  const listed = await valueOf(listImages(at('folders')))
  assert.equal(
    listed.map(({ path }) => relative(slides, path)),
    names
  )
})

test.run()
