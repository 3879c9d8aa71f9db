import { createHash } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { basename } from 'node:path'
import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import * as t from 'io-ts'
import { freePixels } from '../../native'
import { writeFileAtomic } from '../files/atomic-write'
import { type Failure, type Outcome, errorReason, inputFailure } from '../failure'
import { randomStream } from '../numbers/random'
import { type DecodedImage, decodeImage } from '../images/decode-image'
import { type ImageSource, openImage } from '../images/image-source'
import type { ChannelStatistics } from '../images/normalisation'
import { type Reading, asElements } from '../images/samples'
import { type OnUnread, unlessUnread } from '../images/unread'
import { normalisationCodec } from '../weights/channel-metadata'

/** Images, and windows of each, that are looked at; the extent of a window. */
const [mostImages, windowsOfImage, windowExtent] = [64, 4, 256]

interface Sums {
  count: number
  readonly sum: Float64Array
  readonly squares: Float64Array
  /** The least and the largest value: of a channel of one value, sums leave a small deviation. */
  readonly least: Float64Array
  readonly largest: Float64Array
}

/** Values of uint8 count from 0 to 1, as kernels load them. */
const pixelScale = ({ elementType }: ImageSource): number => (elementType === 'uint8' ? 1 / 255 : 1)

/**
 * Pixels of which every channel is 0, as what holds nothing is read, are left out. Floats may be 0
 * without a value that says so, but what is no number is -0.
 */
const addPixels = (sums: Sums, source: ImageSource, bytes: Uint8Array): void => {
  const { channels } = source
  const isTold = source.header.samples.noData !== undefined
  const [elements, scale] = [asElements(source.elementType, bytes), pixelScale(source)]
  for (let pixel = 0; pixel < elements.length; pixel += channels) {
    let isNothing = isTold || source.elementType === 'float32'
    for (let channel = 0; isNothing && channel < channels; channel += 1) {
      const value = elements[pixel + channel]
      isNothing = isTold ? value === 0 : Object.is(value, -0)
    }
    if (isNothing) continue
    sums.count += 1
    for (let channel = 0; channel < channels; channel += 1) {
      const value = elements[pixel + channel]! * scale
      sums.sum[channel]! += value
      sums.squares[channel]! += value * value
      sums.least[channel] = Math.min(sums.least[channel]!, value)
      sums.largest[channel] = Math.max(sums.largest[channel]!, value)
    }
  }
}

const addImage = (sums: Sums, path: string, reading: Reading, onUnread: OnUnread | undefined): Outcome<void> =>
  pipe(
    openImage(path, reading),
    TE.chain((source) => {
      const { read, header } = source
      if (read === undefined)
        return pipe(
          decodeImage(path, { height: 1, width: 1 }, undefined, reading),
          TE.map(({ pixels }: DecodedImage): void => {
            if (pixels instanceof Uint8Array) addPixels(sums, source, pixels)
          }),
          unlessUnread(path, onUnread)
        )
      const { uniform } = randomStream(0, `normalisation.${basename(path)}`)
      const [height, width] = [Math.min(windowExtent, header.height), Math.min(windowExtent, header.width)]
      return pipe(
        Array.from({ length: windowsOfImage }, (_, index) => index),
        TE.traverseSeqArray((index) =>
          pipe(
            read({
              top: Math.floor(uniform(2 * index) * (header.height - height + 1)),
              left: Math.floor(uniform(2 * index + 1) * (header.width - width + 1)),
              height,
              width
            }),
            TE.map((bytes) => {
              addPixels(sums, source, bytes)
              freePixels(bytes)
            }),
            unlessUnread(path, onUnread)
          )
        ),
        TE.map(() => undefined)
      )
    })
  )

const measure = (
  paths: readonly string[],
  reading: Reading,
  channels: number,
  onUnread: OnUnread | undefined
): Outcome<ChannelStatistics> => {
  const each = (value: number): Float64Array => new Float64Array(channels).fill(value)
  const sums: Sums = { count: 0, sum: each(0), squares: each(0), least: each(Infinity), largest: each(-Infinity) }
  const step = Math.max(1, paths.length / mostImages)
  const chosen = Array.from({ length: Math.min(paths.length, mostImages) }, (_, index) => paths[Math.floor(index * step)]!)
  return pipe(
    chosen,
    TE.traverseSeqArray((path) => addImage(sums, path, reading, onUnread)),
    TE.chainEitherK((): E.Either<Failure, ChannelStatistics> => {
      const mean = Array.from(sums.sum, (sum) => sum / sums.count)
      const deviation = Array.from(sums.squares, (squares, channel) => Math.sqrt(Math.max(0, squares / sums.count - mean[channel]! ** 2)))
      if (sums.count === 0)
        return E.left(
          inputFailure('no pixel that counts was found where images were looked at, to measure them by: give --mean and --deviation')
        )
      const hasOne = (channel: number): boolean => !(sums.least[channel]! < sums.largest[channel]!)
      const flat = deviation.findIndex((value, channel) => hasOne(channel) || !(value > 0))
      return flat === -1
        ? E.right({ mean, deviation })
        : E.left(
            inputFailure(
              `channel ${flat + 1} of the images has one value wherever it was looked at, so it has no deviation: leave it out of --bands, or give --mean and --deviation`
            )
          )
    })
  )
}

const keptCodec = t.intersection([t.type({ key: t.string }), normalisationCodec])

/** What the numbers depend on: how images are read, and the files, told apart by size and time. */
const makeCacheKey = async (paths: readonly string[], reading: Reading): Promise<string> => {
  const found = await Promise.all(paths.map((path) => stat(path)))
  const files = paths.map((path, index) => `${basename(path)} ${found[index]!.size} ${found[index]!.mtimeMs}`)
  return createHash('sha256')
    .update(JSON.stringify([reading, files]))
    .digest('hex')
}

const readMeasurement = async (path: string, key: string, channels: number): Promise<ChannelStatistics | undefined> => {
  const text = await readFile(path, 'utf8').catch(() => '{}')
  const decoded = keptCodec.decode(E.toUnion(E.tryCatch((): unknown => JSON.parse(text), String)))
  if (E.isLeft(decoded) || decoded.right.key !== key) return undefined
  const { mean, deviation } = decoded.right
  return mean.length === channels && deviation.length === channels ? { mean, deviation } : undefined
}

/** Mean and deviation of each channel, and where they are kept. */
export interface Measured extends ChannelStatistics {
  /** Whether it was measured now, rather than kept from before. */
  readonly isNew: boolean
  /** The file that keeps it; absent where it could not be written. */
  readonly path?: string
}

/**
 * Mean and deviation of each channel over windows of images, drawn by their names alone: four of
 * 256x256 of each of up to 64 images. Kept beside the data, in `SOURCE.normalisation.json`, until
 * the images or how they are read change. Where `onUnread` is given, windows that cannot be read
 * are left out, and it is told of them.
 */
export const measureNormalisation = (
  paths: readonly string[],
  source: string | undefined,
  reading: Reading,
  channels: number,
  onUnread?: OnUnread
): Outcome<Measured> => {
  const file = source === undefined ? undefined : `${source.replace(/\/+$/, '')}.normalisation.json`
  return pipe(
    TE.tryCatch(
      () => makeCacheKey(paths, reading),
      (thrown) => inputFailure(`the images cannot be measured: ${errorReason(thrown)}`)
    ),
    TE.bindTo('key'),
    TE.bind('kept', ({ key }) => TE.fromTask(async () => (file === undefined ? undefined : readMeasurement(file, key, channels)))),
    TE.chain(({ key, kept }): Outcome<Measured> => {
      if (kept !== undefined) return TE.right({ ...kept, isNew: false, path: file! })
      return pipe(
        measure(paths, reading, channels, onUnread),
        TE.chainTaskK((found) => async (): Promise<Measured> => {
          if (file === undefined) return { ...found, isNew: true }
          const written = await writeFileAtomic(file, () => [Buffer.from(JSON.stringify({ key, ...found }))])()
          return { ...found, isNew: true, ...(E.isRight(written) ? { path: file } : {}) }
        })
      )
    })
  )
}
