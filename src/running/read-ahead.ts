import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { type Image, type ImageWindow, type ReadPixels, freePixels } from '../../native'
import type { Program } from '../../staging'
import type { Outcome } from '../failure'
import { windowInImage } from '../images/crop-placement'
import { keptTilesBytes } from '../images/decoded-tiles'
import type { Extent2 } from '../images/resolution'
import { pixelBytes } from '../images/samples'
import { windowBytes } from '../images/tile-windows'
import { withResource } from '../tasks/with-resource'

/** A window that is read ahead, one that was, and its copy that a kernel loads. */
const heldWindows = 3

/** Bytes of host memory of the windows that are read while a section runs, and of their tiles. */
export const heldBytes = heldWindows * windowBytes + keptTilesBytes

type Code = Program['step']['code']

/** A part of some images of the input, in the crops' own rows and columns. */
interface LoadedPart extends ImageWindow {
  readonly firstImage: number
  readonly images: number
}

/** The parts that code loads of its input, in its order. */
function* loadedParts(code: Code, kernels: Program['kernels'], tile: readonly number[] = [0, 0, 0]): Generator<LoadedPart> {
  for (const instruction of code)
    if (instruction.kind === 'loop')
      for (let index = 0; index < instruction.count; index += 1)
        yield* loadedParts(instruction.body, kernels, tile.with('BHW'.indexOf(instruction.axis), index))
    else if (instruction.kind === 'launch') {
      const kernel = kernels[instruction.kernel]!
      if (kernel.kind !== 'loadImage') continue
      const [, firstImage, top, left] = instruction.operands.map(({ base, strides }) =>
        strides.reduce((sum, stride, axis) => sum + stride * tile[axis]!, base)
      )
      yield { firstImage: firstImage!, images: kernel.batch, top: top!, left: left!, height: kernel.height, width: kernel.width }
    }
}

/** So many places from one on, cut after `step` of them, at its multiples. */
const splitSpan = (from: number, count: number, step: number): readonly (readonly [from: number, count: number])[] => {
  const spans: (readonly [number, number])[] = []
  for (let at = from; at < from + count;) {
    const end = Math.min(from + count, (Math.floor(at / step) + 1) * step)
    spans.push([at, end - at])
    at = end
  }
  return spans
}

/** The windows by which a part is asked for, as native/src/files/image_windows.cpp cuts it. */
const splitPart = (part: ImageWindow, tile: Extent2, mostPixels: number): readonly ImageWindow[] => {
  const most = Math.max(1, Math.floor(mostPixels))
  const rowsOfTiles = Math.floor(most / (Math.max(tile.width, part.width) * tile.height))
  const tiles = Math.floor(most / (tile.width * tile.height))
  const [rows, columns] =
    rowsOfTiles > 0
      ? [rowsOfTiles * tile.height, part.left + part.width]
      : tiles > 0
        ? [tile.height, tiles * tile.width]
        : [Math.max(1, Math.floor(most / tile.width)), Math.min(tile.width, most)]
  return splitSpan(part.top, part.height, rows).flatMap(([top, height]) =>
    splitSpan(part.left, part.width, columns).map(([left, width]) => ({ top, left, height, width }))
  )
}

/** A window of one of a section's images. */
export interface WindowOfImage extends ImageWindow {
  /** Counted from 0; the only one where absent. */
  readonly image?: number
}

/** A section of a program, as far as it says what is loaded. */
export interface LoadingSection {
  readonly code: Code
  readonly kernels: Program['kernels']
  /** The extent of the crops. */
  readonly extent: Extent2
  /** Whether a device takes each crop whole, one after the other, before it runs the section. */
  readonly takesWhole: boolean
}

/** The windows that a section asks for of its images, in order. */
export function* windowsOfSection(section: LoadingSection, images: readonly Image[]): Generator<WindowOfImage> {
  const { code, kernels, extent, takesWhole } = section
  const whole = images.map((_, firstImage): LoadedPart => ({ firstImage, images: 1, top: 0, left: 0, ...extent }))
  for (const part of takesWhole ? whole : loadedParts(code, kernels))
    for (let index = part.firstImage; index < part.firstImage + part.images; index += 1) {
      const { pixels, channels, elementType = 'uint8', ...placing } = images[index]!
      if (!('readWindow' in pixels)) continue
      const most = pixels.windowBytes / pixelBytes({ channels, elementType })
      for (const window of splitPart(windowInImage(part, placing, extent), pixels.tile, most)) yield { image: index, ...window }
    }
}

const isSame = (one: WindowOfImage, other: WindowOfImage): boolean =>
  one.image === other.image && one.top === other.top && one.left === other.left && one.height === other.height && one.width === other.width

type Answer = ReturnType<ReturnType<ReadPixels['readWindow']>>
type ReadWindow = (window: WindowOfImage) => () => Answer

/** A reader of windows, ahead of those that are asked for. */
export interface AheadReader {
  readonly readWindow: ReadWindow
  /** Reads nothing ahead from then on, and frees what was; settles once nothing is being read. */
  readonly stop: () => Promise<void>
}

const free = (answer: Answer): Promise<unknown> => answer.then(E.map(freePixels))

/**
 * Reads each window that is expected after the one before was given, and so while that is computed:
 * one at a time. What is asked for in another order is read then.
 */
export const readAhead = (read: ReadWindow, expected: Iterator<WindowOfImage>): AheadReader => {
  let ahead: { readonly window: WindowOfImage; readonly answer: Answer } | undefined
  let isExpected = true
  const readNext = (): void => {
    const next = isExpected ? expected.next() : { done: true as const }
    ahead = next.done ? undefined : { window: next.value as WindowOfImage, answer: read(next.value as WindowOfImage)() }
  }
  const give = async (window: WindowOfImage): Answer => {
    if (ahead === undefined && isExpected) readNext()
    const found = ahead
    ahead = undefined
    if (found === undefined || !isSame(found.window, window)) {
      isExpected = false
      if (found !== undefined) void free(found.answer)
      return read(window)()
    }
    const answer = await found.answer
    if (E.isRight(answer)) readNext()
    return answer
  }
  const stop = async (): Promise<void> => {
    isExpected = false
    const found = ahead
    ahead = undefined
    if (found !== undefined) await free(found.answer)
  }
  return { readWindow: (window) => () => give(window), stop }
}

/**
 * Hands `use` the images with their windows read ahead of a section that takes them, and frees what
 * is left of those, whether `use` fails or not.
 */
export const withReadAhead = <A>(
  section: LoadingSection,
  images: readonly Image[],
  use: (images: readonly Image[]) => Outcome<A>
): Outcome<A> => {
  const readers = images.map(({ pixels }) => ('readWindow' in pixels ? pixels.readWindow : undefined))
  if (readers.every((reader) => reader === undefined)) return use(images)
  const read: ReadWindow = ({ image = 0, ...window }) => readers[image]!(window)
  return withResource(
    TE.fromIO(() => readAhead(read, windowsOfSection(section, images))),
    ({ readWindow }) =>
      use(
        images.map((given, image) =>
          'readWindow' in given.pixels
            ? { ...given, pixels: { ...given.pixels, readWindow: (window: ImageWindow) => readWindow({ image, ...window }) } }
            : given
        )
      ),
    ({ stop }) => stop()
  )
}
