/**
 * DeepLabv3+ learns, in less memory than plain training takes, which tissue is stained brown (DAB)
 * in a real image; labels come from colour deconvolution. In the end an image shows image, labels
 * and prediction side by side: out/segmentation.png.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import sharp from 'sharp'
import { type TrainOptions, exitStatus, predict, train } from '../src'
import { trainingProgress } from '../src/cli/progress'
import { mean } from './mean'
import { table } from '../src/text/table'
import { makeConfusionMatrix, measureConfusion } from '../src/metrics/confusion'
import { countPixels, emptyConfusion } from '../src/metrics/segmentation-scores'

const image = join(__dirname, 'data', 'classes', 'ihc', 'ihc.png')
const out = join(__dirname, '..', 'out')
const at = (name: string): string => join(out, name)

/**
 * Optical densities of haematoxylin, eosin and DAB (Ruifrok and Johnston, "Quantification of
 * histochemical staining", 2001).
 */
const stains = [
  [0.65, 0.7, 0.29],
  [0.07, 0.99, 0.11],
  [0.27, 0.57, 0.78]
] as const

type Vector = readonly [number, number, number]
const cross = ([a, b, c]: Vector, [d, e, f]: Vector): Vector => [b * f - c * e, c * d - a * f, a * e - b * d]
const dot = (a: Vector, b: Vector): number => a[0] * b[0] + a[1] * b[1] + a[2] * b[2]

/** How much DAB is in a pixel: its densities in the basis of the three stains (Cramer's rule). */
const brown = (densities: Vector): number => dot(cross(stains[0], stains[1]), densities) / dot(cross(stains[0], stains[1]), stains[2])

/** From this density of DAB on, tissue counts as stained. */
const stained = 0.25

/**
 * 1 where the image is stained, blurred so far that a stained cell's pale nucleus belongs to it.
 */
const labelsOf = async (): Promise<{ readonly labels: Uint8Array; readonly height: number; readonly width: number }> => {
  const { data, info } = await sharp(image).removeAlpha().blur(4).raw().toBuffer({ resolveWithObject: true })
  const density = (value: number): number => -Math.log10(Math.max(value, 1) / 255)
  const labels = Uint8Array.from({ length: info.height * info.width }, (_, pixel) => {
    const [red, green, blue] = data.subarray(3 * pixel)
    return brown([density(red!), density(green!), density(blue!)]) > stained ? 1 : 0
  })
  return { labels, height: info.height, width: info.width }
}

/** Image, labels and prediction beside each other; classes as black and white. */
const sideBySide = async (height: number, width: number): Promise<void> => {
  const shown = async (mask: string): Promise<Buffer> => sharp(mask).linear(255, 0).toColourspace('srgb').png().toBuffer()
  const [labels, predicted] = await Promise.all([shown(at('labels.png')), shown(at('prediction.png'))])
  await sharp({ create: { width: 3 * width, height, channels: 3, background: 'white' } })
    .composite([image, labels, predicted].map((input, index) => ({ input, left: index * width, top: 0 })))
    .png()
    .toFile(at('segmentation.png'))
}

const progress = trainingProgress()
const stop = new AbortController()

const main = async (): Promise<void> => {
  process.once('SIGINT', () => stop.abort())
  mkdirSync(out, { recursive: true })
  const { labels, height, width } = await labelsOf()
  await sharp(labels, { raw: { height, width, channels: 1 } })
    .toColourspace('b-w')
    .png()
    .toFile(at('labels.png'))
  writeFileSync(at('segmentation.csv'), `path,mask\n${image},labels.png\n`)
  const model = { model: 'deeplabv3plus', classes: 2 } as const
  const options: TrainOptions = {
    ...model,
    data: at('segmentation.csv'),
    input: [4, 3, 96, 96],
    budget: '92%',
    optimizer: 'adamw',
    lr: 0.0005,
    schedule: 'cosine',
    steps: 80,
    flip: true,
    rotate: true,
    classWeights: 'balanced',
    save: at('segmentation.safetensors'),
    seed: 1,
    onStep: progress.onStep,
    signal: stop.signal
  }
  const result = await pipe(
    TE.Do,
    TE.bind('trained', () => train(options)),
    TE.bind('predicted', () =>
      predict({
        ...model,
        strategy: 'plain',
        weights: at('segmentation.safetensors'),
        image,
        out: at('prediction.png'),
        signal: stop.signal
      })
    )
  )()
  progress.stop()
  process.exitCode = E.isLeft(result) ? exitStatus[result.left.code] : 0
  if (E.isLeft(result)) return console.error(result.left.message)
  await sideBySide(height, width)
  const confusion = emptyConfusion(model.classes)
  countPixels(confusion, labels, await sharp(at('prediction.png')).toColourspace('b-w').raw().toBuffer())
  const { loss } = result.right.trained
  const averaged = Math.ceil(loss.length / 10)
  console.log(
    table(
      ['DeepLabv3+', `${loss.length} steps`],
      [
        [`loss, first ${averaged} steps`, mean(loss.slice(0, averaged)).toFixed(4)],
        [`loss, last ${averaged} steps`, mean(loss.slice(-averaged)).toFixed(4)],
        ['mean IoU of the whole image', measureConfusion(makeConfusionMatrix(confusion.counts, model.classes)).iou?.toFixed(4) ?? 'none'],
        ['image, labels, prediction', at('segmentation.png')]
      ]
    )
  )
}

void main()
