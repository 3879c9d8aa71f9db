import { basename } from 'node:path'
import * as E from 'fp-ts/Either'
import { SaxesParser } from 'saxes'
import { type Failure, inputFailure } from '../../failure'
import { extentText } from '../resolution'
import type { TiffDirectory } from './directories'
import { hasSameSamples, isOme } from './levels'

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
  /** False where they are pages of another file. */
  readonly isHere: boolean
}

const count = (text: string | undefined, absent: number): number => {
  const value = Number(text ?? absent)
  return Number.isSafeInteger(value) && value >= 0 ? value : absent
}

/** Reads OME-XML as far as it goes: of a long description only the beginning is at hand. */
const readOmePixels = (path: string, description: string): OmePixels | undefined => {
  if (!isOme(description)) return undefined
  const found: { pixels?: Omit<OmePixels, 'runs'>; own?: string; isOver: boolean } = { isOver: false }
  const runs: OmeRun[] = []
  /** The file whose pages the last run is of, as its UUID element says. */
  let file: { readonly name: string | undefined; uuid: string } | undefined
  const parser = new SaxesParser()
  parser.on('error', () => undefined)
  parser.on('opentag', ({ name, attributes }) => {
    const [local, { DimensionOrder, SizeZ, SizeC, SizeT, IFD, FirstZ, FirstC, FirstT, PlaneCount }] = [name.replace(/^.*:/, ''), attributes]
    if (found.isOver) return
    if (local === 'OME' && attributes['UUID'] !== undefined) found.own = attributes['UUID']
    if (local === 'UUID' && runs.length > 0) file = { name: attributes['FileName'], uuid: '' }
    if (local === 'Pixels')
      found.pixels = { order: DimensionOrder ?? 'XYCZT', sizes: { Z: count(SizeZ, 1), C: count(SizeC, 1), T: count(SizeT, 1) } }
    if (local === 'TiffData')
      runs.push({
        page: count(IFD, 0),
        first: { Z: count(FirstZ, 0), C: count(FirstC, 0), T: count(FirstT, 0) },
        count: PlaneCount !== undefined ? count(PlaneCount, 1) : IFD !== undefined ? 1 : undefined,
        isHere: true
      })
  })
  parser.on('text', (text) => {
    if (file !== undefined) file.uuid += text
  })
  parser.on('closetag', ({ name }) => {
    const local = name.replace(/^.*:/, '')
    if (local === 'Pixels') found.isOver = true
    if (local !== 'UUID' || file === undefined) return
    // A file that was renamed is still the same one; few that stand alone have a UUID.
    const isHere = found.own === undefined ? (file.name ?? basename(path)) === basename(path) : file.uuid.trim() === found.own
    runs.push({ ...runs.pop()!, isHere })
    file = undefined
  })
  parser.write(description)
  return found.pixels && { ...found.pixels, runs }
}

/** Where a plane stands among all, in the order of their dimensions, such as XYZCT. */
const planeIndex = ({ order, sizes }: OmePixels, at: OmeRun['first']): number =>
  [...order.slice(2)].reduceRight((place, axis) => place * sizes[axis as 'Z'] + at[axis as 'Z'], 0)

/** The page of a channel's first plane; undefined where it is in none of this file. */
const findPage = (pixels: OmePixels, channel: number): number | undefined => {
  const place = planeIndex(pixels, { Z: 0, C: channel, T: 0 })
  const all: OmeRun = { page: 0, first: { Z: 0, C: 0, T: 0 }, count: undefined, isHere: true }
  return (pixels.runs.length === 0 ? [all] : pixels.runs)
    .filter(({ isHere }) => isHere)
    .map(({ page, first, count: planes = Infinity }) => ({ page, planes, after: place - planeIndex(pixels, first) }))
    .flatMap(({ page, planes, after }) => (after >= 0 && after < planes ? [page + after] : []))[0]
}

const sameKind = (one: TiffDirectory, other: TiffDirectory): boolean =>
  one.height === other.height && one.width === other.width && other.channels === 1 && hasSameSamples(one, other)

/**
 * The pages of an OME-TIFF that hold a channel each, of the first depth and time, in the order of
 * channels (OME-TIFF specification, TiffData); none where one page holds them all. Fails where they
 * are of several kinds, or not in this file.
 */
export const omePlanes = (path: string, directories: readonly TiffDirectory[]): E.Either<Failure, readonly TiffDirectory[]> => {
  const pages = directories.filter(({ subDirectory }) => subDirectory === undefined)
  const [first] = pages
  const pixels = first?.channels === 1 ? readOmePixels(path, first.description) : undefined
  if (pixels === undefined || pixels.sizes.C < 2 || !/^XY(?=.*Z)(?=.*C)(?=.*T)[ZCT]{3}$/.test(pixels.order)) return E.right([])
  // A file may say any number: of more channels than pages one is not there.
  const channels = Array.from({ length: Math.min(pixels.sizes.C, pages.length + 1) }, (_, channel) =>
    channel < pages.length ? pages[findPage(pixels, channel) ?? -1] : undefined
  )
  const fail = (channel: number, fault: string): E.Either<Failure, never> =>
    E.left(inputFailure(`the image ${path} is an OME-TIFF of ${pixels.sizes.C} channels, of which number ${channel + 1} ${fault}`))
  const absent = channels.findIndex((plane) => plane === undefined)
  if (absent !== -1) return fail(absent, 'is not in this file: store all of them in one file')
  const planes = channels.flatMap((plane) => plane ?? [])
  const other = planes.findIndex((plane) => !sameKind(planes[0]!, plane))
  return other === -1
    ? E.right(planes)
    : fail(other, `is ${extentText(planes[other]!)}, or of other samples, where the first is ${extentText(planes[0]!)}: store them alike`)
}
