import type { Image } from '../../native'
import type { Extent2 } from '../images/resolution'
import type { ClassMap } from '../images/masks'

/** The place of a crop in an image, and what is done to it. */
export type CropPlacement = Pick<Image, 'cropTop' | 'cropLeft' | 'flipHorizontal' | 'flipVertical' | 'quarterTurns'>

/** The extent in an image of a crop that is turned: by 90 or 270 degrees, it lies across. */
export const extentInImage = ({ height, width }: Extent2, { quarterTurns }: Pick<CropPlacement, 'quarterTurns'>): Extent2 =>
  quarterTurns % 2 === 0 ? { height, width } : { height: width, width: height }

/**
 * The classes of a crop [H, W], flipped and then turned counter-clockwise as devices do it to the
 * image (see Image): pixel (row, column) lies at origin + row * rowStep + column * columnStep of
 * the mask.
 */
export const cropMask = ({ pixels, width: maskWidth }: ClassMap, placing: CropPlacement, crop: Extent2): Uint8Array => {
  const { height, width } = crop
  const { cropTop, cropLeft, flipHorizontal, flipVertical, quarterTurns } = placing
  let { height: high, width: wide } = extentInImage(crop, placing)
  let [origin, rowStep, columnStep] = [cropTop * maskWidth + cropLeft, maskWidth, 1]
  if (flipVertical) [origin, rowStep] = [origin + (high - 1) * rowStep, -rowStep]
  if (flipHorizontal) [origin, columnStep] = [origin + (wide - 1) * columnStep, -columnStep]
  for (let turn = 0; turn < quarterTurns; turn += 1) {
    origin += (wide - 1) * columnStep
    ;[rowStep, columnStep] = [-columnStep, rowStep]
    ;[high, wide] = [wide, high]
  }
  const cropped = new Uint8Array(height * width)
  for (let row = 0; row < height; row += 1)
    for (let column = 0; column < width; column += 1) cropped[row * width + column] = pixels[origin + row * rowStep + column * columnStep]!
  return cropped
}
