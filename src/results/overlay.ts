import type { ImageWindow } from '../../native'
import type { Extent2 } from '../images/resolution'
import type { Colour } from './colours'
import type { PixelRows } from './pixel-rows'

/** Values over an image, row by row, at an extent of their own. */
export interface HeatMap extends Extent2 {
  readonly values: ArrayLike<number>
}

/** Dark to bright, through colours that stain and ground have not (after matplotlib's inferno). */
const stops: readonly Colour[] = [
  [0, 0, 4],
  [87, 16, 110],
  [188, 55, 84],
  [249, 142, 9],
  [252, 255, 164]
]

const colours: readonly Colour[] = Array.from({ length: 256 }, (_, index): Colour => {
  const place = (index / 255) * (stops.length - 1)
  const [below, above] = [stops[Math.floor(place)]!, stops[Math.min(Math.floor(place) + 1, stops.length - 1)]!]
  const share = place - Math.floor(place)
  const mixed = (channel: 0 | 1 | 2): number => Math.round(below[channel] * (1 - share) + above[channel] * share)
  return [mixed(0), mixed(1), mixed(2)]
})

/** How much of the colour is seen where the value is highest. */
const strongest = 0.75

/** Between which values along one side a pixel's middle lies, and how far on. */
const placesAlong = (extent: number, values: number): readonly (readonly [before: number, after: number, share: number])[] =>
  Array.from({ length: extent }, (_, index) => {
    const place = Math.min(values - 1, Math.max(0, ((index + 0.5) * values) / extent - 0.5))
    const before = Math.floor(place)
    return [before, Math.min(before + 1, values - 1), place - before] as const
  })

/**
 * An image under a heat map, bilinear between its values: as clear as it is where they are 0 or
 * below, and coloured the more the nearer they come to `highest`.
 */
export const overlayRows = (
  image: Extent2 & { readonly read: (window: ImageWindow) => Promise<Uint8Array> },
  { height, width, values }: HeatMap,
  highest: number
): PixelRows => {
  const [down, across] = [placesAlong(image.height, height), placesAlong(image.width, width)]
  const rows = async (top: number, count: number): Promise<Uint8Array> => {
    const given = await image.read({ top, left: 0, height: count, width: image.width })
    const pixels = new Uint8Array(given)
    for (let row = 0; row < count; row += 1) {
      const [above, below, share] = down[top + row]!
      for (let column = 0; column < image.width; column += 1) {
        const [left, right, part] = across[column]!
        const upper = values[above * width + left]! * (1 - part) + values[above * width + right]! * part
        const lower = values[below * width + left]! * (1 - part) + values[below * width + right]! * part
        const value = Math.min(1, Math.max(0, (upper * (1 - share) + lower * share) / highest))
        const colour = colours[Math.round(255 * value)]!
        const seen = strongest * value
        const at = 3 * (row * image.width + column)
        for (let channel = 0; channel < 3; channel += 1)
          pixels[at + channel] = Math.round(pixels[at + channel]! * (1 - seen) + colour[channel]! * seen)
      }
    }
    return pixels
  }
  return { height: image.height, width: image.width, samples: 3, rows }
}
