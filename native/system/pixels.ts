import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import { loadAddon } from '../addon/addon'
import { decodeAnswer, type DeviceError } from '../addon/error'
import { handleCodec } from '../addon/codecs'

declare const mapped: unique symbol
/**
 * Pixels in a file, which may be more than a buffer holds; read by the interpreter alone. Mapped as
 * long as something refers to them.
 */
export interface MappedPixels {
  readonly [mapped]: true
}

/**
 * `bytes` bytes of a file from `offset` on. It must not change from then on (if it becomes shorter,
 * reading it ends the process), so remove it: what is mapped stays.
 */
export const mapPixels = (path: string, offset: number, bytes: number): E.Either<DeviceError, MappedPixels> =>
  pipe(
    loadAddon(),
    E.chain((addon) => decodeAnswer(handleCodec<MappedPixels>('mapped pixels'))(addon.mapPixels({ path, offset, bytes })))
  )

/**
 * Gives the memory of pixels back, which nobody reads any more: the collector, which does not see
 * how large they are, would let them pile up.
 */
export const freePixels = (pixels: Uint8Array): void => {
  const addon = loadAddon()
  if (E.isRight(addon)) addon.right.freePixels(pixels)
}
