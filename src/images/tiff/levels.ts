import type { TiffDirectory } from './directories'

/** One of the sizes in which an image is stored. */
export interface ImageLevel {
  readonly height: number
  readonly width: number
  /** Absent where it is stored otherwise, and so read whole. */
  readonly tile?: { readonly height: number; readonly width: number }
  /** Whether a colour profile is not heeded, since other levels have none. */
  readonly ignoresProfile?: boolean
  /** Where it lies in its file. */
  readonly page: number
  readonly subDirectory?: number
  /** Where its directories lie, in bytes: one of all channels, or one a channel. */
  readonly directories?: readonly number[]
}

/** How many times as small a level may be beside the whole number that rounding gives. */
const rounding = 0.01

/** Whether pixels of both are stored alike. */
export const hasSameSamples = (one: TiffDirectory, other: TiffDirectory): boolean =>
  one.channels === other.channels && one.bits[0] === other.bits[0] && one.sampleFormats[0] === other.sampleFormats[0]

/**
 * Tells whether it is the same image made smaller, in tiles: labels and thumbnails are of other
 * shapes or in strips, and masks of what is transparent mostly of other samples.
 */
const isReducedFrom = (whole: TiffDirectory, one: TiffDirectory): boolean => {
  const { height, width, tile } = one
  if (tile === undefined || one.isMask || !hasSameSamples(whole, one)) return false
  if (height >= whole.height || width >= whole.width || height === 0 || width === 0) return false
  const isNear = (side: number, exact: number): boolean => Math.abs(exact - side) <= Math.max(2, rounding * side)
  // By either side: rounding changes a short one more.
  return isNear(height, (whole.height * width) / whole.width) || isNear(width, (whole.width * height) / whole.height)
}

const toLevel = ({ height, width, tile, page, subDirectory, at }: TiffDirectory): ImageLevel => ({
  height,
  width,
  page,
  directories: [at],
  ...(tile && { tile }),
  ...(subDirectory !== undefined && { subDirectory })
})

/**
 * The levels of a TIFF, finest first: its first page, then the tiled pages, or directories below
 * the first page (OME), that hold it smaller.
 */
export const tiffLevels = (directories: readonly TiffDirectory[]): readonly ImageLevel[] => {
  const [whole] = directories
  if (whole === undefined) return []
  const smaller = directories
    .filter((one) => (one.page === 0) === (one.subDirectory !== undefined) && isReducedFrom(whole, one))
    .sort((one, other) => other.width - one.width)
  const levels = [whole, ...smaller.filter(({ width }, index) => index === 0 || width < smaller[index - 1]!.width)]
  const [isProfiled, isOnEach] = [levels.some(({ hasProfile }) => hasProfile), levels.every(({ hasProfile }) => hasProfile)]
  return levels.map((level): ImageLevel => ({ ...toLevel(level), ...(isProfiled && !isOnEach && { ignoresProfile: true }) }))
}

/**
 * The levels of an image whose channels are planes in pages of their own: these pages, then the
 * directories below each that hold all of them smaller and alike.
 */
export const planeLevels = (planes: readonly TiffDirectory[], directories: readonly TiffDirectory[]): readonly ImageLevel[] => {
  const below = (plane: TiffDirectory): readonly ImageLevel[] =>
    directories
      .filter((one) => one.page === plane.page && one.subDirectory !== undefined && isReducedFrom(plane, one))
      .sort((one, other) => other.width - one.width)
      .map(toLevel)
  const [first = [], ...others] = planes.map(below)
  const smaller = first.flatMap((level) => {
    const alike = others.map((levels) => levels.find(({ height, width }) => height === level.height && width === level.width))
    return alike.includes(undefined) ? [] : [{ ...level, directories: [level, ...alike].flatMap((one) => one?.directories ?? []) }]
  })
  return [{ ...toLevel(planes[0]!), directories: planes.map(({ at }) => at) }, ...smaller]
}

const positive = (text: string | undefined): number | undefined => {
  const value = Number(text)
  return text !== undefined && value > 0 && Number.isFinite(value) ? value : undefined
}

/** Micrometres of the units that OME-XML has for PhysicalSizeX; µm where none is said. */
const micrometres: ReadonlyMap<string, number> = new Map([
  ['µm', 1],
  ['μm', 1],
  ['um', 1],
  ['nm', 1e-3],
  ['mm', 1e3],
  ['cm', 1e4]
])

/** XML that is kept in ASCII writes µ by its number. */
const micro = /&#(?:181|x0*b5);/i

/** Tells whether a TIFF's description is OME-XML, with or without a prefix of its names. */
export const isOme = (description: string): boolean => /<(?:\w+:)?OME\b/.test(description)

const micronsOfOme = (description: string): number | undefined => {
  if (!isOme(description)) return undefined
  const size = positive(/\bPhysicalSizeX="([^"]*)"/.exec(description)?.[1])
  const unit = micrometres.get((/\bPhysicalSizeXUnit="([^"]*)"/.exec(description)?.[1] ?? 'µm').replace(micro, 'µ'))
  return size === undefined || unit === undefined ? undefined : size * unit
}

/** Finest level, by the description of Aperio or OME, or else by the resolution in centimetres. */
export const tiffMicronsPerPixel = ([whole]: readonly TiffDirectory[]): number | undefined => {
  if (whole === undefined) return undefined
  const { description, perCentimetre } = whole
  return (
    positive(/\|\s*MPP\s*=\s*([\d.]+)/.exec(description)?.[1]) ??
    micronsOfOme(description) ??
    (perCentimetre === undefined ? undefined : 1e4 / perCentimetre)
  )
}
