import * as TE from 'fp-ts/TaskEither'
import type { Image } from '../../native'
import type { Outcome } from '../failure'
import { decodeImage } from '../images/decode-image'
import type { ImageSource } from '../images/image-source'
import { readPixels } from '../images/image-windows'
import type { Reading } from '../images/samples'
import { heldBytes } from '../running/read-ahead'

/** An image as a step takes it. */
export type Input = Pick<Image, 'pixels' | 'height' | 'width' | 'channels' | 'elementType'>

/** By windows where it is in tiles, or else decoded whole. */
export const readInput = ({ path, header, channels, elementType, read }: ImageSource, reading: Reading): Outcome<Input> =>
  read === undefined
    ? decodeImage(path, { height: 1, width: 1 }, undefined, reading)
    : TE.right({ pixels: readPixels(header, read), height: header.height, width: header.width, channels, elementType })

/** Bytes of host memory of the windows that are read; undefined of what is decoded whole. */
export const windowHostBytes = ({ pixels }: Input): number | undefined => ('readWindow' in pixels ? heldBytes : undefined)
