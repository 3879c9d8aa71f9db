import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import sharp from 'sharp'
import type { Extent2 } from '../../src/images/resolution'
import { writePng } from './image-files'

/** Bytes that no two neighbours have in common. */
export const noise = (length: number, seed: number): Uint8Array =>
  Uint8Array.from({ length }, (_, index) => (Math.imul(index + seed, 2654435761) >>> 13) & 255)

/** A PNG of red, green and blue, row by row. */
export const writeColours = (path: string, pixels: Uint8Array, { height, width }: Extent2): Promise<unknown> =>
  sharp(pixels, { raw: { height, width, channels: 3 } })
    .png()
    .toFile(path)

/**
 * Two folders of noisy 40x24 images, dark and light: a dataset that a small network learns in a few
 * steps.
 */
export const writeImages = async (folder: string, imagesOfAClass = 3): Promise<void> => {
  for (const [name, level] of [
    ['dark', 60],
    ['light', 190]
  ] as const) {
    mkdirSync(join(folder, name), { recursive: true })
    for (let image = 0; image < imagesOfAClass; image += 1) {
      const pixels = Uint8Array.from({ length: 40 * 24 * 3 }, (_, index) => level + ((index * 7919 * (image + 1)) % 61) - 30)
      await writeColours(join(folder, name, `${image}.png`), pixels, { height: 24, width: 40 })
    }
  }
}

/** masks.csv of a noisy 96x128 image, tissue.png, whose right half is bright and of class 1. */
export const writeMasks = async (folder: string): Promise<void> => {
  const [height, width] = [96, 128]
  const classes = Uint8Array.from({ length: height * width }, (_, index) => (index % width < width / 2 ? 0 : 1))
  writePng(join(folder, 'mask.png'), classes, { height, width, bitDepth: 8 })
  const pixels = Uint8Array.from(
    { length: 3 * height * width },
    (_, index) => 60 + 130 * classes[Math.floor(index / 3)]! + ((index * 7919) % 61) - 30
  )
  await writeColours(join(folder, 'tissue.png'), pixels, { height, width })
  writeFileSync(join(folder, 'masks.csv'), 'path,mask\ntissue.png,mask.png\n')
}
