/**
 * Images with masks, some of sides that a network cannot take whole, and a training on them.
 */
import { type Layers, type Model, batchNorm, conv2d, convTranspose2d, denseBlock, maxPool2d, named, relu } from '../../dsl'
import { train, type TrainOptions, type TrainReport } from '../../src'
import { noise, writeColours } from './example-images'
import { writePng } from './image-files'
import { valueOf } from './outcome'
import { temporaryFolder } from './temporary-folder'
import { join } from 'node:path'
import { writeFileSync } from 'node:fs'

const folder = temporaryFolder()
/** A file in the folder of this test. */
export const at = (name: string): string => join(folder, name)
export const classes = 3

const double = (out: number): Layers => [conv2d({ out, k: 3, p: 1, bias: false }), batchNorm(), relu]
/** Its sides are multiples of 4, and what it skips is held whole. */
const layers: Layers = [
  ...double(6),
  denseBlock([
    maxPool2d({ k: 2 }),
    ...double(6),
    denseBlock([maxPool2d({ k: 2 }), ...double(6), convTranspose2d({ out: 6, k: 2, s: 2 })]),
    ...double(6),
    convTranspose2d({ out: 6, k: 2, s: 2 })
  ]),
  named('head', conv2d({ out: classes, k: 1 }))
]
export const skipping: Model = { name: 'skipping', layers }

/** Three images, of which the last has another extent and the middle one is no multiple of 4. */
export const extents = [
  { height: 160, width: 144 },
  { height: 101, width: 94 },
  { height: 48, width: 64 }
] as const

export const maskOf = (image: number): Uint8Array => {
  const { height, width } = extents[image]!
  return Uint8Array.from({ length: height * width }, (_, index) => {
    const [row, column] = [Math.floor(index / width), index % width]
    return row < 2 ? 255 : (Math.floor((row + 7 * image) / 20) + Math.floor(column / 30)) % classes
  })
}

/** Writes the images, their masks, and lists of all and of those that fit the network. */
export const writeMaskedImages = async (): Promise<void> => {
  for (const [image, { height, width }] of extents.entries()) {
    const mask = maskOf(image)
    writePng(at(`${image}.mask.png`), mask, { height, width, bitDepth: 8 })
    const random = noise(3 * height * width, image)
    const colours = Uint8Array.from(random, (value, index) => 40 + 70 * (mask[Math.floor(index / 3)]! % classes) + (value >> 2))
    await writeColours(at(`${image}.png`), colours, { height, width })
  }
  const rows = (images: readonly number[]): string => `path,mask\n${images.map((image) => `${image}.png,${image}.mask.png\n`).join('')}`
  writePng(at('ignored.mask.png'), new Uint8Array(48 * 64).fill(255), { height: 48, width: 64, bitDepth: 8 })
  writeFileSync(at('all.csv'), rows([0, 1, 2]))
  writeFileSync(at('fitting.csv'), rows([0, 2]))
}

export const options = {
  model: skipping,
  input: [2, 3, 32, 32],
  data: at('all.csv'),
  validation: at('all.csv'),
  device: 'reference',
  precision: 'float64',
  threads: 1,
  seed: 5,
  lr: 0.05
} as const satisfies TrainOptions

/** What a training of two steps reports, and what it says. */
export const trained = async (
  changes: Partial<TrainOptions>
): Promise<{ readonly report: TrainReport; readonly notices: readonly string[] }> => {
  const notices: string[] = []
  const report = await valueOf(train({ ...options, steps: 2, ...changes, onNotice: (sentence) => notices.push(sentence) }))
  return { report, notices }
}
