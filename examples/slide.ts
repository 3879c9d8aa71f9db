/**
 * A small U-Net learns glass, connective tissue and epithelium of a real slide from polygons, by
 * windows of it, in less memory than plain training takes. Polygons of the slide's lower part are
 * held out; they are what is scored. Mask, polygons and overlay lie in out/slide in the end.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import sharp from 'sharp'
import { type Outcome, type TrainOptions, exitStatus, formatBytes, predict, train } from '../src'
import { trainingProgress } from '../src/cli/progress'
import { inputFailure, errorReason } from '../src/failure'
import { makePolygonMap, readAnnotations } from '../src/datasets/annotations/annotations'
import { ignoredLabel } from '../src/datasets/class-list'
import { paintWindow } from '../src/datasets/annotations/paint-polygons'
import { mean } from './mean'
import { colourOfClass } from '../src/results/colours'
import { table } from '../src/text/table'
import { makeConfusionMatrix, measureConfusion } from '../src/metrics/confusion'
import { countPixels, emptyConfusion } from '../src/metrics/segmentation-scores'

const slides = join(__dirname, 'data', 'slides')
const slide = join(slides, 'CMU-1-Small-Region.svs')
const out = join(__dirname, '..', 'out', 'slide')
const at = (name: string): string => join(out, name)

const classes = ['glass', 'connective', 'epithelium'] as const
const finest = { height: 2967, width: 2220 }

/**
 * Near enough to 1 micrometre a pixel that both sides are multiples of 4, as the network's two
 * halvings need: 1480x1108.
 */
const mpp = 1.0002

/** The classes of the pixels that a file of polygons marks, at the extent of the prediction. */
const paintedAs = (file: string, extent: { readonly height: number; readonly width: number }): Outcome<Uint8Array> =>
  pipe(
    readAnnotations(file),
    TE.chainEitherK(makePolygonMap(file, finest, { aliases: classes.map((name, value) => ({ name, value })), outside: ignoredLabel })),
    TE.map((map) => paintWindow(map, extent, { top: 0, left: 0, ...extent }))
  )

/** The slide beside the slide under the colours of its classes; glass stays as it is. */
const drawOverlay = async (pixels: Uint8Array, height: number, width: number): Promise<void> => {
  const colours = new Uint8Array(4 * pixels.length)
  pixels.forEach((value, index) => {
    if (value > 0) colours.set([...colourOfClass(value), 120], 4 * index)
  })
  const image = await sharp(slide).resize(width, height, { fit: 'fill' }).png().toBuffer()
  const overlay = { input: Buffer.from(colours.buffer), raw: { height, width, channels: 4 as const } }
  const coloured = await sharp(image).composite([overlay]).png().toBuffer()
  await sharp({ create: { width: 2 * width, height, channels: 3, background: 'white' } })
    .composite([image, coloured].map((input, index) => ({ input, left: index * width, top: 0 })))
    .png()
    .toFile(at('overlay.png'))
  await sharp(at('overlay.png')).resize(900).jpeg({ quality: 80 }).toFile(at('overlay.jpg'))
}

const progress = trainingProgress()
const stop = new AbortController()

const main = async (): Promise<void> => {
  process.once('SIGINT', () => stop.abort())
  mkdirSync(out, { recursive: true })
  writeFileSync(at('training.csv'), `path,mask\n${slide},${join(slides, 'training.geojson')}\n`)
  writeFileSync(at('slides.csv'), `path\n${slide}\n`)
  const model = join(__dirname, 'slide-model.ts')
  const options: TrainOptions = {
    model,
    data: at('training.csv'),
    classNames: classes,
    mpp,
    crop: [256, 256],
    balanced: true,
    flip: true,
    rotate: true,
    stainJitter: { scale: 0.05, shift: 0.02 },
    budget: '60%',
    optimizer: 'adamw',
    lr: 0.003,
    schedule: 'cosine',
    steps: 150,
    save: at('slide.safetensors'),
    seed: 1,
    onStep: progress.onStep,
    signal: stop.signal
  }
  const result = await pipe(
    TE.Do,
    TE.bind('trained', () => train(options)),
    TE.bind('predicted', () =>
      predict({
        model,
        weights: at('slide.safetensors'),
        data: at('slides.csv'),
        mpp,
        budget: '80MiB',
        classNames: classes,
        background: 'glass',
        formats: ['tif', 'geojson'],
        out,
        signal: stop.signal
      })
    ),
    TE.bind('pixels', () =>
      TE.tryCatch(
        () => sharp(at('CMU-1-Small-Region.tif')).toColourspace('b-w').raw().toBuffer({ resolveWithObject: true }),
        (thrown) => inputFailure(`the mask cannot be read: ${errorReason(thrown)}`)
      )
    ),
    TE.bind('marked', ({ pixels: { info } }) => paintedAs(join(slides, 'held-out.geojson'), info))
  )()
  progress.stop()
  process.exitCode = E.isLeft(result) ? exitStatus[result.left.code] : 0
  if (E.isLeft(result)) return console.error(result.left.message)
  const { trained, predicted, marked, pixels } = result.right
  await drawOverlay(pixels.data, pixels.info.height, pixels.info.width)
  const confusion = emptyConfusion(classes.length)
  countPixels(confusion, marked, pixels.data)
  const { loss } = trained
  const averaged = Math.ceil(loss.length / 10)
  console.log(
    table(
      ['small U-Net', `${loss.length} steps`],
      [
        [`loss, first ${averaged} steps`, mean(loss.slice(0, averaged)).toFixed(4)],
        [`loss, last ${averaged} steps`, mean(loss.slice(-averaged)).toFixed(4)],
        ['peak of prediction on the device', formatBytes(predicted.peakDeviceBytes)],
        [
          'mean IoU of polygons held out',
          measureConfusion(makeConfusionMatrix(confusion.counts, classes.length)).iou?.toFixed(4) ?? 'none'
        ],
        ['mask, polygons, overlay', out]
      ]
    )
  )
}

void main()
