import { type FileHandle, open } from 'node:fs/promises'
import { type GeoTransform, readGeoTransform } from './geo-transform'

/** Tags of TIFF 6.0, of its first supplement, of GeoTIFF and of GDAL that are looked at. */
const tags = {
  subfileType: 254,
  width: 256,
  height: 257,
  bits: 258,
  compression: 259,
  photometric: 262,
  fillOrder: 266,
  description: 270,
  orientation: 274,
  channels: 277,
  rowsPerStrip: 278,
  xResolution: 282,
  planarConfiguration: 284,
  resolutionUnit: 296,
  predictor: 317,
  tileWidth: 322,
  tileHeight: 323,
  subDirectories: 330,
  sampleFormat: 339,
  pixelScale: 33550,
  tiePoints: 33922,
  transformation: 34264,
  geoKeys: 34735,
  noData: 42113,
  /** Of NDPI: that offsets have more than 4 bytes. */
  hamamatsu: 65420
} as const

/** Tags of lists of where strips or tiles lie, of which only that they are there counts. */
const placeTags: readonly number[] = [273, 324]
const profileTag = 34675

/** One image of a TIFF, as its directory tells. */
export interface TiffDirectory {
  /** Counted along the file's chain. */
  readonly page: number
  /** The number of a directory below a page, counted among those of the page. */
  readonly subDirectory?: number
  /** Where it lies in the file, in bytes. */
  readonly at: number
  readonly height: number
  readonly width: number
  readonly compression: number
  readonly photometric: number | undefined
  readonly channels: number
  /** How values are stored as differences before they are compressed; 1 where they are not. */
  readonly predictor: number
  readonly isBigEndian: boolean
  /** Whether each channel has tiles or strips of its own. */
  readonly isPlanar: boolean
  /** Whether the bits of each byte lie in reverse, the lowest first. */
  readonly isReversed: boolean
  /** As EXIF numbers it; 1 where the file does not tell it. */
  readonly orientation: number
  /** Bits of each channel, and whether it is unsigned (1), signed (2) or floating-point (3). */
  readonly bits: readonly number[]
  readonly sampleFormats: readonly number[]
  /** Whether it says where another image is transparent. */
  readonly isMask: boolean
  /** Rows of a strip, where it is stored in strips. */
  readonly stripRows: number
  /** Absent where it is stored in strips. */
  readonly tile?: { readonly height: number; readonly width: number }
  /** Whether it says where its tiles or strips lie. */
  readonly hasPlaces: boolean
  /** Whether a colour profile says how its colours look. */
  readonly hasProfile: boolean
  readonly description: string
  /** Whether it is an NDPI, which only looks like a TIFF. */
  readonly isHamamatsu: boolean
  /** Pixels a centimetre; absent where the file does not tell it in centimetres. */
  readonly perCentimetre?: number
  /** Where the file says it, as GeoTIFF does. */
  readonly geoTransform?: GeoTransform
  /** The value of pixels that hold nothing, as GDAL writes it. */
  readonly noData?: number
}

/** How the numbers of a file are written; in a BigTIFF offsets have 8 bytes. */
interface Numbers {
  readonly isLittle: boolean
  readonly isBig: boolean
}

const numberAt = (bytes: Buffer, at: number, size: 1 | 2 | 4 | 8, { isLittle }: Numbers): number => {
  if (size === 8) return Number(isLittle ? bytes.readBigUInt64LE(at) : bytes.readBigUInt64BE(at))
  return isLittle ? bytes.readUIntLE(at, size) : bytes.readUIntBE(at, size)
}

/** Less where the file ends before. */
const bytesAt = async (file: FileHandle, position: number, length: number): Promise<Buffer> => {
  const { bytesRead, buffer } = await file.read(Buffer.alloc(length), 0, length, position)
  return buffer.subarray(0, bytesRead)
}

/**
 * Bytes of the types that are read: byte, text, short, long, rational, double, sub-directory, and
 * 8-byte ones.
 */
const typeBytes: Readonly<Record<number, 1 | 2 | 4 | 8>> = { 1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 12: 8, 13: 4, 16: 8, 18: 8 }
const [rational, double] = [5, 12]

/** Longer values are lists of places, or text that says nothing more of interest. */
const mostValueBytes = 2 ** 20
/** Of all directories together, which may each name the same long values: later ones are absent. */
const mostBytesOfFile = 2 ** 24
const mostEntries = 2 ** 12
const mostDirectories = 2 ** 10

type Field = { readonly type: number; readonly bytes: Buffer }

interface Entries {
  readonly fields: ReadonlyMap<number, Field>
  readonly next: number
}

const wanted: ReadonlySet<number> = new Set(Object.values(tags))

/** Bytes of values that may still be read of a file. */
interface Allowance {
  bytes: number
}

const entriesAt = async (file: FileHandle, position: number, numbers: Numbers, left: Allowance): Promise<Entries | undefined> => {
  const [countBytes, entryBytes, offsetBytes] = numbers.isBig ? ([8, 20, 8] as const) : ([2, 12, 4] as const)
  const head = await bytesAt(file, position, countBytes)
  if (head.length < countBytes) return undefined
  const count = numberAt(head, 0, countBytes, numbers)
  if (count === 0 || count > mostEntries) return undefined
  const length = count * entryBytes
  const body = await bytesAt(file, position + countBytes, length + offsetBytes)
  if (body.length < length) return undefined
  const fields = new Map<number, Field>()
  for (let at = 0; at < length; at += entryBytes) {
    const [tag, type] = [numberAt(body, at, 2, numbers), numberAt(body, at + 2, 2, numbers)]
    if (placeTags.includes(tag) || tag === profileTag) fields.set(tag, { type, bytes: Buffer.alloc(0) })
    const each = typeBytes[type]
    if (each === undefined || !wanted.has(tag)) continue
    const bytes = each * numberAt(body, at + 4, offsetBytes, numbers)
    const valueAt = at + 4 + offsetBytes
    const kept = Math.min(bytes, mostValueBytes)
    if (kept > left.bytes) continue
    left.bytes -= kept
    const value =
      bytes <= offsetBytes
        ? body.subarray(valueAt, valueAt + bytes)
        : await bytesAt(file, numberAt(body, valueAt, offsetBytes, numbers), kept)
    if (value.length === kept) fields.set(tag, { type, bytes: value })
  }
  return { fields, next: body.length < length + offsetBytes ? 0 : numberAt(body, length, offsetBytes, numbers) }
}

const centimetres = 3
/** In the bits of NewSubfileType, and as a photometric interpretation. */
const transparencyMask = 4

/** GDAL writes inf, -inf and nan; NaN where it is no number. */
const parseNoData = (text: string): number => Number(text.replace(/^([+-]?)inf(?:inity)?$/i, '$1Infinity'))

const makeDirectory = (
  { fields }: Entries,
  numbers: Numbers,
  place: Pick<TiffDirectory, 'page' | 'subDirectory' | 'at'>
): TiffDirectory => {
  const list = (tag: number): readonly number[] | undefined => {
    const field = fields.get(tag)
    if (field === undefined) return undefined
    const { type, bytes } = field
    const each = typeBytes[type]!
    return Array.from({ length: Math.floor(bytes.length / each) }, (_, index) => {
      const at = index * each
      if (type === double) return numbers.isLittle ? bytes.readDoubleLE(at) : bytes.readDoubleBE(at)
      if (type === rational) return numberAt(bytes, at, 4, numbers) / numberAt(bytes, at + 4, 4, numbers)
      return numberAt(bytes, at, each, numbers)
    })
  }
  const number = (tag: number): number | undefined => list(tag)?.[0]
  const text = (tag: number): string | undefined =>
    fields
      .get(tag)
      ?.bytes.toString('utf8')
      .replace(/\0[^]*$/, '')
  const channels = number(tags.channels) ?? 1
  const geoTransform = readGeoTransform({
    pixelScale: list(tags.pixelScale),
    tiePoints: list(tags.tiePoints),
    transformation: list(tags.transformation),
    geoKeys: list(tags.geoKeys)
  })
  const noData = text(tags.noData)?.trim()
  const [tileWidth, tileHeight, perUnit] = [number(tags.tileWidth), number(tags.tileHeight), number(tags.xResolution)]
  return {
    ...place,
    height: number(tags.height) ?? 0,
    width: number(tags.width) ?? 0,
    compression: number(tags.compression) ?? 1,
    photometric: number(tags.photometric),
    channels,
    predictor: number(tags.predictor) ?? 1,
    isBigEndian: !numbers.isLittle,
    isPlanar: number(tags.planarConfiguration) === 2,
    isReversed: number(tags.fillOrder) === 2,
    orientation: number(tags.orientation) ?? 1,
    isMask: ((number(tags.subfileType) ?? 0) & transparencyMask) !== 0 || number(tags.photometric) === transparencyMask,
    stripRows: number(tags.rowsPerStrip) ?? Infinity,
    bits: list(tags.bits) ?? [1],
    sampleFormats: list(tags.sampleFormat) ?? [1],
    ...(tileWidth === undefined || tileHeight === undefined ? {} : { tile: { height: tileHeight, width: tileWidth } }),
    hasPlaces: placeTags.some((tag) => fields.has(tag)),
    hasProfile: fields.has(profileTag),
    description: text(tags.description) ?? '',
    isHamamatsu: fields.has(tags.hamamatsu),
    ...(number(tags.resolutionUnit) === centimetres && perUnit !== undefined && perUnit > 0 && perUnit < Infinity
      ? { perCentimetre: perUnit }
      : {}),
    ...(geoTransform && { geoTransform }),
    ...(noData === undefined || noData === '' ? {} : { noData: parseNoData(noData) })
  }
}

const listSubDirectories = ({ fields }: Entries, numbers: Numbers): readonly number[] => {
  const field = fields.get(tags.subDirectories)
  if (field === undefined) return []
  const each = typeBytes[field.type]!
  return Array.from({ length: Math.floor(field.bytes.length / each) }, (_, index) => numberAt(field.bytes, index * each, each, numbers))
}

/**
 * The first directory of an NDPI, whose place has 8 bytes in a header as of TIFF: of more than 4
 * GiB it may lie beyond what TIFF's 4 bytes say. Only that it is one is looked at.
 */
const readFarDirectory = async (file: FileHandle, start: Buffer, numbers: Numbers): Promise<TiffDirectory | undefined> => {
  const at = start.length < 12 ? 0 : numberAt(start, 4, 8, numbers)
  if (at < 2 ** 32 || !Number.isSafeInteger(at)) return undefined
  const entries = await entriesAt(file, at, numbers, { bytes: mostBytesOfFile })
  const directory = entries && makeDirectory(entries, numbers, { page: 0, at })
  return directory?.isHamamatsu === true ? directory : undefined
}

const readDirectories = async (file: FileHandle): Promise<readonly TiffDirectory[]> => {
  const start = await bytesAt(file, 0, 16)
  const mark = start.toString('latin1', 0, 2)
  if (start.length < 8 || (mark !== 'II' && mark !== 'MM')) return []
  const isLittle = mark === 'II'
  const version = numberAt(start, 2, 2, { isLittle, isBig: false })
  if ((version !== 42 && version !== 43) || (version === 43 && start.length < 16)) return []
  const numbers = { isLittle, isBig: version === 43 }
  const far = isLittle && version === 42 ? await readFarDirectory(file, start, numbers) : undefined
  if (far !== undefined) return [far]
  const left: Allowance = { bytes: mostBytesOfFile }
  const found: TiffDirectory[] = []
  const seen = new Set<number>()
  let position = numbers.isBig ? numberAt(start, 8, 8, numbers) : numberAt(start, 4, 4, numbers)
  // A chain that bites its tail ends there.
  for (let page = 0; position !== 0 && !seen.has(position) && found.length < mostDirectories; page += 1) {
    seen.add(position)
    const entries = await entriesAt(file, position, numbers, left)
    if (entries === undefined) break
    found.push(makeDirectory(entries, numbers, { page, at: position }))
    for (const [subDirectory, place] of listSubDirectories(entries, numbers).entries()) {
      const below = found.length < mostDirectories ? await entriesAt(file, place, numbers, left) : undefined
      if (below !== undefined) found.push(makeDirectory(below, numbers, { page, subDirectory, at: place }))
    }
    position = entries.next
  }
  return found
}

/**
 * The directories of a TIFF or BigTIFF, as far as they can be read; none of a file of another
 * format.
 */
export const readTiffDirectories = async (path: string): Promise<readonly TiffDirectory[]> => {
  const file = await open(path, 'r')
  try {
    return await readDirectories(file)
  } finally {
    await file.close()
  }
}
