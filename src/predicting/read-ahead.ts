import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { type ImageWindow, type ReadPixels, freePixels } from '../../native'
import type { Program } from '../../staging'
import type { Outcome } from '../failure'
import type { Extent2 } from '../images/resolution'
import { pixelBytes } from '../images/samples'
import { withResource } from '../tasks/with-resource'
import type { Input } from './input'

type Code = Program['step']['code']

/** The parts that code loads of its input, in its order. */
function* loadedParts(code: Code, kernels: Program['kernels'], tile: readonly number[] = [0, 0, 0]): Generator<ImageWindow> {
  for (const instruction of code)
    if (instruction.kind === 'loop')
      for (let index = 0; index < instruction.count; index += 1)
        yield* loadedParts(instruction.body, kernels, tile.with('BHW'.indexOf(instruction.axis), index))
    else if (instruction.kind === 'launch') {
      const kernel = kernels[instruction.kernel]!
      if (kernel.kind !== 'loadImage') continue
      const [, , top, left] = instruction.operands.map(({ base, strides }) =>
        strides.reduce((sum, stride, axis) => sum + stride * tile[axis]!, base)
      )
      yield { top: top!, left: left!, height: kernel.height, width: kernel.width }
    }
}

/** So many places from one on, cut after `step` of them, at its multiples. */
const spansOf = (from: number, count: number, step: number): readonly (readonly [from: number, count: number])[] => {
  const spans: (readonly [number, number])[] = []
  for (let at = from; at < from + count;) {
    const end = Math.min(from + count, (Math.floor(at / step) + 1) * step)
    spans.push([at, end - at])
    at = end
  }
  return spans
}

/** The windows by which a part is asked for, as native/src/files/image_windows.cpp cuts it. */
export const splitPart = (part: ImageWindow, tile: Extent2, mostPixels: number): readonly ImageWindow[] => {
  const most = Math.max(1, Math.floor(mostPixels))
  const rowsOfTiles = Math.floor(most / (Math.max(tile.width, part.width) * tile.height))
  const tiles = Math.floor(most / (tile.width * tile.height))
  const [rows, columns] =
    rowsOfTiles > 0
      ? [rowsOfTiles * tile.height, part.left + part.width]
      : tiles > 0
        ? [tile.height, tiles * tile.width]
        : [Math.max(1, Math.floor(most / tile.width)), Math.min(tile.width, most)]
  return spansOf(part.top, part.height, rows).flatMap(([top, height]) =>
    spansOf(part.left, part.width, columns).map(([left, width]) => ({ top, left, height, width }))
  )
}

/** Where in an image the input begins, which is not flipped. */
export interface Corner {
  readonly top: number
  readonly left: number
}

const corner: Corner = { top: 0, left: 0 }

/** The windows that a step asks for of an image, in order. */
export function* windowsOfStep(
  program: Program,
  { windowBytes, tile }: ReadPixels,
  bytesOfPixel: number,
  { top, left }: Corner = corner
): Generator<ImageWindow> {
  for (const part of loadedParts(program.step.code, program.kernels))
    yield* splitPart({ ...part, top: part.top + top, left: part.left + left }, tile, windowBytes / bytesOfPixel)
}

const isSame = (one: ImageWindow, other: ImageWindow): boolean =>
  one.top === other.top && one.left === other.left && one.height === other.height && one.width === other.width

type ReadWindow = ReadPixels['readWindow']
type Answer = ReturnType<ReturnType<ReadWindow>>

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
export const readAhead = (read: ReadWindow, expected: Iterator<ImageWindow>): AheadReader => {
  let ahead: { readonly window: ImageWindow; readonly answer: Answer } | undefined
  let isExpected = true
  const readNext = (): void => {
    const next = isExpected ? expected.next() : { done: true as const }
    ahead = next.done ? undefined : { window: next.value as ImageWindow, answer: read(next.value as ImageWindow)() }
  }
  const give = async (window: ImageWindow): Answer => {
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
 * Hands `use` the image with its windows read ahead of a step of the program that takes it from
 * `from` on, and frees what is left of them, whether `use` fails or not.
 */
export const withReadAhead = <A>(input: Input, program: Program, use: (input: Input) => Outcome<A>, from?: Corner): Outcome<A> => {
  const { pixels, channels, elementType = 'uint8' } = input
  if (!('readWindow' in pixels)) return use(input)
  const { readWindow } = pixels
  const open = TE.fromIO(() => readAhead(readWindow, windowsOfStep(program, pixels, pixelBytes({ channels, elementType }), from)))
  return withResource(
    open,
    (ahead) => use({ ...input, pixels: { ...pixels, readWindow: ahead.readWindow } }),
    ({ stop }) => stop()
  )
}
