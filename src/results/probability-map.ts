import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { Outcome } from '../failure'
import type { ImageHeader } from '../images/image-header'
import type { Extent2 } from '../images/resolution'
import type { ProbabilityType } from './formats'
import { listGeoTags, writeGeoFiles } from './geo-files'
import type { ValueRows } from './pixel-rows'
import { applySoftmax, sigmoid } from './softmax'
import { writePyramid } from './tiff-pyramid'

/** Scores of classes before softmax or sigmoid, by rows of one class. */
interface Scores extends Extent2 {
  readonly classes: number
  readonly rows: (classIndex: number, top: number, rows: number) => ArrayLike<number>
  readonly leave: () => void
  readonly mostRows: number
}

/** Scores of a place become probabilities: by softmax; or each, or a single one, by its sigmoid. */
const intoProbabilities = (scores: Float64Array, softmax: boolean): void => {
  if (softmax && scores.length > 1) applySoftmax(scores)
  else for (let one = 0; one < scores.length; one += 1) scores[one] = sigmoid(scores[one]!)
}

const probabilityRows = (
  { classes, height, width, rows, leave, mostRows }: Scores,
  { elementType, softmax }: Pick<ProbabilityMapOptions, 'elementType' | 'softmax'>
): ValueRows => ({
  ...{ height, width, samples: classes, elementType, mostRows },
  rows: (top, count) => {
    leave()
    const planes = Array.from({ length: classes }, (_, one) => rows(one, top, count))
    const pixels = count * width
    const isFloat = elementType === 'float32'
    const values = isFloat ? new Float32Array(pixels * classes) : new Uint8Array(pixels * classes)
    const place = new Float64Array(classes)
    for (let at = 0; at < pixels; at += 1) {
      for (let one = 0; one < classes; one += 1) place[one] = planes[one]![at]!
      intoProbabilities(place, softmax)
      for (let one = 0; one < classes; one += 1) values[at * classes + one] = isFloat ? place[one]! : Math.round(255 * place[one]!)
    }
    return Promise.resolve(values)
  }
})

interface ProbabilityMapOptions {
  readonly header: ImageHeader
  readonly scores: Scores
  readonly elementType: ProbabilityType
  /** Whether probabilities are by softmax; else by sigmoid, of each class against all others. */
  readonly softmax: boolean
  /** Told what of the place on the ground cannot be written. */
  readonly onNotice?: ((sentence: string) => void) | undefined
}

/**
 * Writes the probabilities of the classes as a pyramid, a band a class, with the image's
 * micrometres a pixel and place on the ground; of a single score one band, that of class 1.
 */
export const writeProbabilities = (path: string, options: ProbabilityMapOptions): Outcome<void> => {
  const { header, scores, onNotice } = options
  const { view, geoTransform } = header
  return pipe(
    writePyramid(path, probabilityRows(scores, options), {
      ...(geoTransform && { geoTags: listGeoTags(geoTransform) }),
      micronsPerPixel: view.micronsPerPixel
    }),
    TE.chain(() => (geoTransform === undefined ? TE.right(undefined) : writeGeoFiles(path, geoTransform, onNotice)))
  )
}
