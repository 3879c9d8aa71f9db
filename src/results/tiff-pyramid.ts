import { open } from 'node:fs/promises'
import { promisify } from 'node:util'
import { deflate } from 'node:zlib'
import type { Outcome } from '../failure'
import { replaceFileAtomic } from '../files/atomic-write'
import { loadSharp } from '../images/load-sharp'
import type { Extent2 } from '../images/resolution'
import type { Colour } from './colours'
import type { PixelRows, ValueRows } from './pixel-rows'
import { type TiffTag, type TiffWriter, createTiffWriter, tag, textTag } from './tiff-file'

/** How the levels of a pyramid are shown, and what is known of their place. */
export interface PyramidOptions {
  /** Colours of 256 values; absent of grey and of pictures. */
  readonly palette?: readonly Colour[]
  /** Micrometres a pixel of the finest level, where they are known. */
  readonly micronsPerPixel?: number | undefined
  /** Tags of the finest level that keep the place. */
  readonly geoTags?: readonly TiffTag[]
}

const tileExtent = 256
const tileBand = tileExtent
const jpegQuality = 90
/** Tiles that are encoded beside each other: as many as Node has threads for it. */
const tilesAtOnce = 4
/** Rows that are made smaller at a time, an even number; these are in memory twice. */
const halvedAtOnce = 32

type Elements = Uint8Array | Float32Array

/** What samples are, which says how they are stored and made smaller. */
export interface Content {
  readonly of: 'classes' | 'picture' | 'values'
  readonly samples: number
  readonly isFloat: boolean
}

const makeContent = (rows: PixelRows | ValueRows): Content =>
  'elementType' in rows
    ? { of: 'values', samples: rows.samples, isFloat: rows.elementType === 'float32' }
    : { of: rows.samples === 1 ? 'classes' : 'picture', samples: rows.samples, isFloat: false }

const newElements = ({ isFloat }: Content, count: number): Elements => (isFloat ? new Float32Array(count) : new Uint8Array(count))

/** Half the extents, down to one tile. */
const listLevels = ({ height, width }: Extent2): readonly Extent2[] => {
  const smaller = { height: Math.ceil(height / 2), width: Math.ceil(width / 2) }
  return height <= tileExtent && width <= tileExtent ? [{ height, width }] : [{ height, width }, ...listLevels(smaller)]
}

/**
 * Rows at half the extent. Of classes, that of the pixel under the middle, as masks are read at
 * other levels; of pictures and values, the mean of four.
 */
export const halve = (pixels: Elements, rows: number, width: number, { of, samples, isFloat }: Content, half: Elements): Elements => {
  const [halfRows, halfWidth] = [Math.ceil(rows / 2), Math.ceil(width / 2)]
  let to = 0
  for (let row = 0; row < halfRows; row += 1) {
    const [upper, lower] = [2 * row * width, Math.min(2 * row + 1, rows - 1) * width]
    if (of === 'classes') {
      for (let column = 1; column < width; column += 2) half[to++] = pixels[lower + column]!
      if (width % 2 === 1) half[to++] = pixels[lower + width - 1]!
      continue
    }
    for (let column = 0; column < halfWidth; column += 1) {
      const [left, right] = [2 * column, Math.min(2 * column + 1, width - 1)]
      for (let sample = 0; sample < samples; sample += 1) {
        const at = (place: number): number => pixels[place * samples + sample]!
        const sum = at(upper + left) + at(upper + right) + at(lower + left) + at(lower + right)
        half[to++] = isFloat ? sum / 4 : (sum + 2) >> 2
      }
    }
  }
  return half.subarray(0, to)
}

/** Fills a tile from a band, its last row and column repeated where the image ends. */
const cutTile = (tile: Elements, band: Elements, rows: number, width: number, samples: number, left: number): void => {
  const columns = Math.min(tileExtent, width - left)
  for (let row = 0; row < tileExtent; row += 1) {
    const from = (Math.min(row, rows - 1) * width + left) * samples
    const to = row * tileExtent * samples
    tile.set(band.subarray(from, from + columns * samples), to)
    for (let at = columns * samples; at < tileExtent * samples; at += 1) tile[to + at] = tile[to + at - samples]!
  }
}

const deflated = promisify(deflate)

const encodeTile = (tile: Elements, { of }: Content): Promise<Uint8Array> =>
  of === 'picture'
    ? loadSharp()(tile, { raw: { height: tileExtent, width: tileExtent, channels: 3 } })
        .jpeg({ quality: jpegQuality, chromaSubsampling: '4:4:4' })
        .toBuffer()
    : deflated(tile)

/** The value of a tile of one value. */
const onlyValue = (tile: Elements): number | undefined => {
  // Of a large image there are ten thousand million: no call for each.
  for (let at = 1; at < tile.length; at += 1) if (tile[at] !== tile[0]) return undefined
  return tile[0]
}

/** A level that takes rows and hands tiles to the file, and rows at half the extent to the next. */
interface LevelWriter {
  readonly push: (rows: Elements) => Promise<void>
  readonly offsets: readonly number[]
  readonly bytes: readonly number[]
}

const createLevel = (writer: TiffWriter, extent: Extent2, content: Content, next: LevelWriter | undefined): LevelWriter => {
  const { height, width } = extent
  const { of, samples } = content
  const rowElements = width * samples
  const offsets: number[] = []
  const bytes: number[] = []
  const alike = new Map<number, readonly [offset: number, bytes: number]>()
  // Taken once: what is dropped band by band would pile up before it is collected.
  const band = newElements(content, Math.min(tileBand, height) * rowElements)
  const tiles = Array.from({ length: tilesAtOnce }, () => newElements(content, tileExtent * tileExtent * samples))
  const half = newElements(content, next === undefined ? 0 : (halvedAtOnce / 2) * Math.ceil(width / 2) * samples)
  let [held, done] = [0, 0]
  /** Encodes tiles beside each other, and writes them in their order. */
  const writeTiles = async (lefts: readonly number[], rows: number): Promise<void> => {
    const encoding = lefts.map((left, index) => {
      const tile = tiles[index]!
      cutTile(tile, band, rows, width, samples, left)
      const value = of === 'classes' ? onlyValue(tile) : undefined
      return { value, encoded: value !== undefined && alike.has(value) ? undefined : encodeTile(tile, content) }
    })
    const encoded = await Promise.all(encoding.map((tile) => tile.encoded))
    for (const [index, { value }] of encoding.entries()) {
      const known = value === undefined ? undefined : alike.get(value)
      const [offset, length] = known ?? [await writer.append(encoded[index]!), encoded[index]!.length]
      if (value !== undefined) alike.set(value, [offset, length])
      offsets.push(offset)
      bytes.push(length)
    }
  }
  const flush = async (): Promise<void> => {
    const rows = held
    const lefts = Array.from({ length: Math.ceil(width / tileExtent) }, (_, column) => column * tileExtent)
    for (let first = 0; first < lefts.length; first += tilesAtOnce) await writeTiles(lefts.slice(first, first + tilesAtOnce), rows)
    done += rows
    held = 0
    for (let top = 0; next !== undefined && top < rows; top += halvedAtOnce) {
      const count = Math.min(halvedAtOnce, rows - top)
      await next.push(halve(band.subarray(top * rowElements, (top + count) * rowElements), count, width, content, half))
    }
  }
  const push = async (pixels: Elements): Promise<void> => {
    for (let from = 0; from < pixels.length;) {
      const rows = Math.min(tileBand - held, (pixels.length - from) / rowElements)
      band.set(pixels.subarray(from, from + rows * rowElements), held * rowElements)
      held += rows
      from += rows * rowElements
      if (held === tileBand || done + held === height) await flush()
    }
  }
  return { push, offsets, bytes }
}

const photometric = { grey: 1, palette: 3, colours: 6 } as const
const compression = { deflate: 8, jpeg: 7 } as const
const centimetre = 3

const makeTags = (level: number, extent: Extent2, content: Content, written: LevelWriter, options: PyramidOptions): readonly TiffTag[] => {
  const { of, samples, isFloat } = content
  const { palette, micronsPerPixel, geoTags = [] } = options
  const perCentimetre = micronsPerPixel === undefined ? undefined : 1e4 / (micronsPerPixel * 2 ** level)
  const interpretation = of === 'picture' ? photometric.colours : of === 'classes' && palette ? photometric.palette : photometric.grey
  return [
    tag(254, 'long', level === 0 ? 0 : 1),
    tag(256, 'long', extent.width),
    tag(257, 'long', extent.height),
    tag(258, 'short', ...Array<number>(samples).fill(isFloat ? 32 : 8)),
    tag(259, 'short', of === 'picture' ? compression.jpeg : compression.deflate),
    tag(262, 'short', interpretation),
    tag(277, 'short', samples),
    tag(284, 'short', 1),
    ...(perCentimetre === undefined
      ? []
      : [tag(282, 'rational', perCentimetre), tag(283, 'rational', perCentimetre), tag(296, 'short', centimetre)]),
    textTag(305, 'Tilefold'),
    ...(palette && of === 'classes'
      ? [tag(320, 'short', ...[0, 1, 2].flatMap((channel) => palette.map((colour) => colour[channel]! * 257)))]
      : []),
    tag(322, 'short', tileExtent),
    tag(323, 'short', tileExtent),
    { tag: 324, type: 'long8', values: written.offsets },
    { tag: 325, type: 'long8', values: written.bytes },
    // Bands beyond the first are no colours, and mean nothing that TIFF knows.
    ...(of === 'values' && samples > 1 ? [tag(338, 'short', ...Array<number>(samples - 1).fill(0))] : []),
    ...(of === 'values' ? [tag(339, 'short', ...Array<number>(samples).fill(isFloat ? 3 : 1))] : []),
    ...(of === 'picture' ? [tag(530, 'short', 1, 1)] : []),
    ...(level === 0 ? geoTags : [])
  ]
}

/**
 * Writes a BigTIFF in tiles of 256x256, with levels of half the extent each down to one tile: of
 * one sample a pixel classes (deflate), of three a picture (JPEG), or bands of values (deflate).
 * Rows are read once, from the top; of each level a band of 256 rows is held.
 */
export const writePyramid = (path: string, pixels: PixelRows | ValueRows, options: PyramidOptions = {}): Outcome<void> =>
  replaceFileAtomic(path, async (temporary) => {
    const file = await open(temporary, 'w')
    try {
      const writer = createTiffWriter(file)
      const extents = listLevels(pixels)
      const content = makeContent(pixels)
      const levels: LevelWriter[] = []
      for (const extent of [...extents].reverse()) levels.unshift(createLevel(writer, extent, content, levels[0]))
      const atOnce = Math.min(tileBand, pixels.mostRows ?? tileBand)
      for (let top = 0; top < pixels.height; top += atOnce)
        await levels[0]!.push(await pixels.rows(top, Math.min(atOnce, pixels.height - top)))
      await writer.finish(levels.map((level, index) => makeTags(index, extents[index]!, content, level, options)))
    } finally {
      await file.close()
    }
  })
