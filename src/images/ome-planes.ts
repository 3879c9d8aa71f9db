import * as E from 'fp-ts/Either'
import { SaxesParser } from 'saxes'
import { type Failure, inputFailure } from '../failure'
import { extentText } from './resolution'
import type { TiffDirectory } from './tiff-directories'

/** Planes of the first image of an OME-TIFF: one for each channel, depth and time. */
interface OmePixels {
  readonly order: string
  readonly sizes: Readonly<Record<'Z' | 'C' | 'T', number>>
  readonly runs: readonly OmeRun[]
}

/** Planes in successive pages, from a plane on; without a count as many as there are. */
interface OmeRun {
  readonly page: number
  readonly first: Readonly<Record<'Z' | 'C' | 'T', number>>
  readonly count: number | undefined
}

const count = (text: string | undefined, absent: number): number => {
  const value = Number(text ?? absent)
  return Number.isSafeInteger(value) && value >= 0 ? value : absent
}

/** Reads OME-XML as far as it goes: of a long description only the beginning is at hand. */
const readOmePixels = (description: string): OmePixels | undefined => {
  if (!description.includes('<OME') && !description.includes(':OME')) return undefined
  const found: { pixels?: Omit<OmePixels, 'runs'>; isOver: boolean } = { isOver: false }
  const runs: OmeRun[] = []
  const parser = new SaxesParser()
  parser.on('error', () => undefined)
  parser.on('opentag', ({ name, attributes }) => {
    const [local, { DimensionOrder, SizeZ, SizeC, SizeT, IFD, FirstZ, FirstC, FirstT, PlaneCount }] = [name.replace(/^.*:/, ''), attributes]
    if (found.isOver) return
    if (local === 'Pixels')
      found.pixels = { order: DimensionOrder ?? 'XYCZT', sizes: { Z: count(SizeZ, 1), C: count(SizeC, 1), T: count(SizeT, 1) } }
    if (local === 'TiffData')
      runs.push({
        page: count(IFD, 0),
        first: { Z: count(FirstZ, 0), C: count(FirstC, 0), T: count(FirstT, 0) },
        count: PlaneCount !== undefined ? count(PlaneCount, 1) : IFD !== undefined ? 1 : undefined
      })
  })
  parser.on('closetag', ({ name }) => {
    if (name.replace(/^.*:/, '') === 'Pixels') found.isOver = true
  })
  parser.write(description)
  return found.pixels && { ...found.pixels, runs }
}

/** Where a plane stands among all, in the order of their dimensions, such as XYZCT. */
const placeOf = ({ order, sizes }: OmePixels, at: OmeRun['first']): number =>
  [...order.slice(2)].reduceRight((place, axis) => place * sizes[axis as 'Z'] + at[axis as 'Z'], 0)

/** The page of a channel's first plane; undefined where it is in none of this file. */
const pageOf = (pixels: OmePixels, channel: number): number | undefined => {
  const place = placeOf(pixels, { Z: 0, C: channel, T: 0 })
  const all: OmeRun = { page: 0, first: { Z: 0, C: 0, T: 0 }, count: undefined }
  return (pixels.runs.length === 0 ? [all] : pixels.runs)
    .map(({ page, first, count: planes = Infinity }) => ({ page, planes, after: place - placeOf(pixels, first) }))
    .flatMap(({ page, planes, after }) => (after >= 0 && after < planes ? [page + after] : []))[0]
}

const sameKind = (one: TiffDirectory, other: TiffDirectory): boolean =>
  one.height === other.height &&
  one.width === other.width &&
  other.channels === 1 &&
  one.bits[0] === other.bits[0] &&
  one.sampleFormats[0] === other.sampleFormats[0]

/**
 * The pages of an OME-TIFF that hold a channel each, of the first depth and time, in the order of
 * channels (OME-TIFF specification, TiffData); none where one page holds them all. Fails where they
 * are of several kinds, or not in this file.
 */
export const omePlanes = (path: string, directories: readonly TiffDirectory[]): E.Either<Failure, readonly TiffDirectory[]> => {
  const pages = directories.filter(({ subDirectory }) => subDirectory === undefined)
  const [first] = pages
  const pixels = first?.channels === 1 ? readOmePixels(first.description) : undefined
  if (pixels === undefined || pixels.sizes.C < 2 || !/^XY(?=.*Z)(?=.*C)(?=.*T)[ZCT]{3}$/.test(pixels.order)) return E.right([])
  const channels = Array.from({ length: pixels.sizes.C }, (_, channel) => pages[pageOf(pixels, channel) ?? -1])
  const fail = (channel: number, fault: string): E.Either<Failure, never> =>
    E.left(inputFailure(`the image ${path} is an OME-TIFF of ${channels.length} channels, of which number ${channel + 1} ${fault}`))
  const absent = channels.findIndex((plane) => plane === undefined)
  if (absent !== -1) return fail(absent, 'is not in this file: store all of them in one file')
  const planes = channels.flatMap((plane) => plane ?? [])
  const other = planes.findIndex((plane) => !sameKind(planes[0]!, plane))
  return other === -1
    ? E.right(planes)
    : fail(other, `is ${extentText(planes[other]!)}, or of other samples, where the first is ${extentText(planes[0]!)}: store them alike`)
}
