import * as E from 'fp-ts/Either'
import { type Failure, inputFailure } from '../../failure'
import type { View } from '../resolution'
import type { TiffDirectory } from './directories'
import type { ImageLevel } from './levels'

const isCount = (value: number): boolean => Number.isInteger(value) && value > 0

/** TIFF 6.0 keeps their number in two bytes. */
const mostTiffChannels = 65_535

/** What of a damaged header would else be read as nothing, for ever or not at all. */
export const checkDirectory = (
  path: string,
  {
    height,
    width,
    channels,
    tile,
    stripRows,
    hasPlaces
  }: Pick<TiffDirectory, 'height' | 'width' | 'channels' | 'tile' | 'stripRows' | 'hasPlaces'>
): E.Either<Failure, void> => {
  const pieces = tile ?? { height: Math.min(stripRows, height), width }
  const fault = !(isCount(height) && isCount(width))
    ? `has ${width}x${height} pixels`
    : !(isCount(channels) && channels <= mostTiffChannels)
      ? 'does not say how many channels it has'
      : !(isCount(pieces.height) && isCount(pieces.width))
        ? `is stored in ${tile === undefined ? 'strips' : 'tiles'} of ${pieces.width}x${pieces.height} pixels`
        : !hasPlaces
          ? 'does not say where its pixels lie'
          : undefined
  return fault === undefined
    ? E.right(undefined)
    : E.left(inputFailure(`the image ${path} ${fault}: it is cut or damaged in its header, so store it anew or leave it out`))
}

/** Refuses an image, or a level, that would be read as something else or not at all. */
export const checkStored = (
  what: string,
  directories: readonly TiffDirectory[],
  findFault: (directory: TiffDirectory) => string | undefined
): E.Either<Failure, void> => {
  const [fault] = directories.flatMap((directory) => findFault(directory) ?? [])
  return fault === undefined ? E.right(undefined) : E.left(inputFailure(`${what} ${fault}`))
}

/** The same of a level, which may be stored otherwise than the first. */
export const checkLevel =
  (
    path: string,
    directories: readonly TiffDirectory[],
    levels: readonly ImageLevel[],
    findFault: (one: TiffDirectory) => string | undefined
  ) =>
  ({ level }: View): E.Either<Failure, void> => {
    const number = levels.indexOf(level)
    const what = number === 0 ? `the image ${path}` : `level ${number} of the image ${path}`
    return checkStored(
      what,
      directories.filter(({ at }) => level.directories?.includes(at)),
      findFault
    )
  }
