import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import sharp from 'sharp'

/** Two folders of noisy 40x24 images, dark and light: a dataset that a small network learns in a few steps. */
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
