import { type CropPlacement, axesInImage } from '../../images/crop-placement'
import type { ClassMap } from '../../datasets/masks/masks'
import type { Extent2 } from '../../images/resolution'

/** The classes of a crop [H, W], flipped and turned as devices do it to the image. */
export const cropMask = ({ pixels, width: maskWidth }: ClassMap, placing: CropPlacement, crop: Extent2): Uint8Array => {
  const { height, width } = crop
  const axes = axesInImage(placing, crop)
  const [origin, rowStep, columnStep] = [axes.origin, axes.down, axes.right].map((place) => place.row * maskWidth + place.column) as [
    number,
    number,
    number
  ]
  const cropped = new Uint8Array(height * width)
  for (let row = 0; row < height; row += 1)
    for (let column = 0; column < width; column += 1) cropped[row * width + column] = pixels[origin + row * rowStep + column * columnStep]!
  return cropped
}
