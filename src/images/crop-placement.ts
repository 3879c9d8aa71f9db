import type { Image, ImageWindow } from '../../native'
import type { Extent2 } from './resolution'

/** The place of a crop in an image, and what is done to it. */
export type CropPlacement = Pick<Image, 'cropTop' | 'cropLeft' | 'flipHorizontal' | 'flipVertical' | 'quarterTurns'>

/** The placement of a crop as it lies in the image, from the pixel at (top, left) on. */
export const placeUnflippedCrop = (top: number, left: number): CropPlacement => ({
  cropTop: top,
  cropLeft: left,
  flipHorizontal: false,
  flipVertical: false,
  quarterTurns: 0
})

/** The placement of a crop in the middle of an image. */
export const centreCrop =
  (crop: Extent2) =>
  (image: Extent2): CropPlacement =>
    placeUnflippedCrop(Math.floor((image.height - crop.height) / 2), Math.floor((image.width - crop.width) / 2))

/** The extent in an image of a crop that is turned: by 90 or 270 degrees, it lies across. */
export const extentInImage = ({ height, width }: Extent2, { quarterTurns }: Pick<CropPlacement, 'quarterTurns'>): Extent2 =>
  quarterTurns % 2 === 0 ? { height, width } : { height: width, width: height }

interface Place {
  readonly row: number
  readonly column: number
}

/**
 * Where the pixels of a crop [H, W] lie in the image: (row, column) at origin + row * down + column
 * * right. Devices flip an image first, and then turn it counter-clockwise (see Image).
 */
export const axesInImage = (placing: CropPlacement, crop: Extent2): { readonly [A in 'origin' | 'down' | 'right']: Place } => {
  const { cropTop, cropLeft, flipHorizontal, flipVertical, quarterTurns } = placing
  let { height: high, width: wide } = extentInImage(crop, placing)
  let [origin, down, right]: [Place, Place, Place] = [
    { row: cropTop + (flipVertical ? high - 1 : 0), column: cropLeft + (flipHorizontal ? wide - 1 : 0) },
    { row: flipVertical ? -1 : 1, column: 0 },
    { row: 0, column: flipHorizontal ? -1 : 1 }
  ]
  for (let turn = 0; turn < quarterTurns; turn += 1) {
    origin = { row: origin.row + (wide - 1) * right.row, column: origin.column + (wide - 1) * right.column }
    ;[down, right] = [{ row: -right.row, column: -right.column }, down]
    ;[high, wide] = [wide, high]
  }
  return { origin, down, right }
}

/** The window of the image that a part of a crop is. */
export const windowInImage = (part: ImageWindow, placing: CropPlacement, crop: Extent2): ImageWindow => {
  const { origin, down, right } = axesInImage(placing, crop)
  const at = (row: number, column: number): Place => ({
    row: origin.row + row * down.row + column * right.row,
    column: origin.column + row * down.column + column * right.column
  })
  const [one, other] = [at(part.top, part.left), at(part.top + part.height - 1, part.left + part.width - 1)]
  const [top, left] = [Math.min(one.row, other.row), Math.min(one.column, other.column)]
  return { top, left, height: Math.abs(one.row - other.row) + 1, width: Math.abs(one.column - other.column) + 1 }
}
