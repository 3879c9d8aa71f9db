import type Sharp from 'sharp'
import { freePixels } from '../../native'

interface RawPixels {
  readonly data: Uint8Array
  readonly info: Sharp.OutputInfo
}

/**
 * Bytes as the decoder holds them, to be freed once they are read. (Its `toUint8Array` copies them,
 * and never gives the copy back.)
 */
export const decoderPixels = (image: Sharp.Sharp): Promise<RawPixels> => image.raw({ depth: 'uchar' }).toBuffer({ resolveWithObject: true })

/**
 * Bytes of our own: a session marks what it reads, and Node 24 cannot end with a Buffer of the
 * decoder's that is.
 */
export const ownPixels = (data: Uint8Array): Uint8Array => {
  const own = new Uint8Array(data)
  freePixels(data)
  return own
}
