import { basename } from 'node:path'
import * as TE from 'fp-ts/TaskEither'
import { type Outcome, inputFailure, errorReason } from '../failure'
import { palette } from '../results/colours'
import { loadSharp } from '../images/load-sharp'
import type { SeenCrop } from '../images/seen-crop'

/** A picture under a name, as a PNG of RGB. */
export interface Picture {
  readonly tag: string
  readonly height: number
  readonly width: number
  readonly png: Buffer
}

/** How much of a picture is seen through the classes that are laid over it. */
const seenThrough = 0.45

const overlaid = (rgb: Uint8Array, classes: Uint8Array): Uint8Array =>
  rgb.map((value, at) => seenThrough * value + (1 - seenThrough) * palette[classes[Math.floor(at / 3)]!]![at % 3]!)

/** The name that a crop has from one validation to the next. */
export const cropTag = ({ name }: SeenCrop, index: number): string => `crops/${index} ${basename(name)}`

/**
 * Each crop as it is, and with the truth and the network's classes laid over it where it has a
 * mask.
 */
export const cropPictures = (crops: readonly SeenCrop[]): Outcome<readonly Picture[]> => {
  const drawn = crops.flatMap((crop, index) => {
    const { height, width, rgb, target, predicted } = crop
    const picture = (what: string, classes?: Uint8Array) => ({
      ...{ tag: `${cropTag(crop, index)}/${what}`, height, width },
      rgb: classes === undefined ? rgb : overlaid(rgb, classes)
    })
    return [picture('image'), ...(target ? [picture('truth', target)] : []), ...(predicted ? [picture('predicted', predicted)] : [])]
  })
  return TE.tryCatch(
    () =>
      Promise.all(
        drawn.map(async ({ rgb, ...picture }) => ({
          ...picture,
          png: await loadSharp()(rgb, { raw: { height: picture.height, width: picture.width, channels: 3 } })
            .png()
            .toBuffer()
        }))
      ),
    (thrown) => inputFailure(`pictures of the validated crops cannot be encoded (${errorReason(thrown)})`)
  )
}
