/** Red, green and blue, 0 to 255. */
export type Colour = readonly [red: number, green: number, blue: number]

/**
 * Colours that people tell apart whatever they see of colour: Okabe and Ito, "Color Universal
 * Design" (2008), after black.
 */
const distinct: readonly Colour[] = [
  [0, 0, 0],
  [230, 159, 0],
  [86, 180, 233],
  [0, 158, 115],
  [240, 228, 66],
  [0, 114, 178],
  [213, 94, 0],
  [204, 121, 167]
]

/** Hues that lie far apart for neighbours: turns by the golden ratio, at three brightnesses. */
const spread = (index: number): Colour => {
  const hue = (index * 0.6180339887) % 1
  const channel = (shift: number): number => {
    const wave = Math.min(1, Math.max(0, Math.abs(((hue + shift) % 1) * 6 - 3) - 1))
    return Math.round((0.35 + 0.65 * wave) * (255 - 40 * (index % 3)))
  }
  return [channel(0), channel(2 / 3), channel(1 / 3)]
}

/** The colour of a class in masks, polygons and pictures; the first is black. */
export const colourOfClass = (index: number): Colour => distinct[index] ?? spread(index)

const key = ([red, green, blue]: Colour): number => (red << 16) | (green << 8) | blue

/** The first colour from one on, by its blue, that none of the others is. */
const unlike = (others: ReadonlySet<number>, [red, green, blue]: Colour): Colour =>
  others.has(key([red, green, blue])) ? unlike(others, [red, green, (blue + 1) % 256]) : [red, green, blue]

/** The value in a mask of a pixel that has no class: one of its scores is not finite. */
export const noClass = 255

/** 256 colours, all different: those of classes, and white for 255, which is no class. */
export const palette: readonly Colour[] = (() => {
  const white: Colour = [255, 255, 255]
  const seen = new Set<number>([key(white)])
  return Array.from({ length: noClass + 1 }, (_, index): Colour => {
    const colour = index === noClass ? white : unlike(seen, colourOfClass(index))
    seen.add(key(colour))
    return colour
  })
})()
