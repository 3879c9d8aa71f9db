import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import sharp from 'sharp'

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
      const noise = Uint8Array.from({ length: 40 * 24 * 3 }, (_, index) => level + ((index * 7919 * (image + 1)) % 61) - 30)
      await sharp(noise, { raw: { width: 40, height: 24, channels: 3 } })
        .png()
        .toFile(join(folder, name, `${image}.png`))
    }
  }
}

/** masks.csv of a noisy 96x128 image, tissue.png, whose right half is bright and of class 1. */
export const writeMasks = async (folder: string): Promise<void> => {
  const [height, width] = [96, 128]
  const classes = Uint8Array.from({ length: height * width }, (_, index) => (index % width < width / 2 ? 0 : 1))
  const write = (name: string, pixels: Uint8Array, space: 'b-w' | 'srgb'): Promise<unknown> =>
    sharp(pixels, { raw: { height, width, channels: space === 'b-w' ? 1 : 3 } })
      .toColourspace(space)
      .png()
      .toFile(join(folder, name))
  await write('mask.png', classes, 'b-w')
  const noise = Uint8Array.from(
    { length: 3 * height * width },
    (_, index) => 60 + 130 * classes[Math.floor(index / 3)]! + ((index * 7919) % 61) - 30
  )
  await write('tissue.png', noise, 'srgb')
  writeFileSync(join(folder, 'masks.csv'), 'path,mask\ntissue.png,mask.png\n')
}
