import { stringify } from 'csv-stringify/sync'
import type { Outcome } from '../../failure'
import { writeFileAtomic } from '../../files/atomic-write'
import type { ImageQuality } from './validate-images'

type Measures = ImageQuality['quality']

const measures = ['loss', 'accuracy', 'iou', 'dice', 'auc', 'kappa'] as const satisfies readonly (keyof Measures)[]
const ofClasses = [
  ['IoU', 'classIou'],
  ['Dice', 'classDice'],
  ['AUC', 'classAuc']
] as const satisfies readonly (readonly [string, keyof Measures])[]

const text = (value: number | null | undefined): string => (value === undefined || value === null ? '' : `${value}`)

/**
 * Writes a CSV with a row for each image that was validated, whole or not at all: `path`, `pixels`
 * that count, the measures, and those of each class, empty where they divide by 0. Of an image of
 * which no pixel counts, or a score is not finite, all measures are empty.
 */
export const writeImageTable = (path: string, classes: readonly string[], images: readonly ImageQuality[]): Outcome<void> => {
  const shown = ofClasses.filter(([, measure]) => images.some(({ quality }) => quality[measure] !== undefined))
  const header = ['path', 'pixels', ...measures, ...shown.flatMap(([name]) => classes.map((one) => `${name} of ${one}`))]
  const rows = images.map(({ path: image, pixels, quality }) => {
    const known = pixels === 0 || Number.isNaN(quality.loss) ? undefined : quality
    return [
      image,
      `${pixels}`,
      ...measures.map((measure) => text(known?.[measure])),
      ...shown.flatMap(([, measure]) => classes.map((_, index) => text(known?.[measure]?.[index])))
    ]
  })
  return writeFileAtomic(path, () => [Buffer.from(stringify([header, ...rows]))])
}
