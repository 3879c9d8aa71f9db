import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import type * as t from 'io-ts'
import { decodeAs } from '../../staging/decoding/decode'
import { exactly } from '../../staging/decoding/exactly'
import { accepting, decoding, listOf, objectOr, path, text, whole } from '../codecs'
import { type Dataset, type Example, labelsOf, largestLabel, readDataset as read } from '../dataset'
import type { Outcome } from '../failure'
import type { Mask } from '../masks'
import { answering, optionsOf } from './answering'
import { mostClasses } from '../limits'

const maskCodec = exactly<Mask>('a mask', 'field', { path, height: whole(1), width: whole(1), counts: listOf(whole(0), 256, 256) }, {})

const exampleCodec = exactly<Example>(
  'an example',
  'field',
  {
    path,
    label: objectOr<Mask, number>(`a whole number from 0 to ${largestLabel}, or a mask`, maskCodec, whole(0, largestLabel)),
    origin: text
  },
  {}
)

const fields = exactly<Dataset>(
  'a dataset',
  'field',
  { examples: listOf(exampleCodec, 1), classes: whole(1, mostClasses) },
  { names: listOf(text), source: path, leftOut: text }
)

const mixed = (dataset: Dataset): boolean =>
  dataset.examples.some(({ label }) => typeof label === 'number') && labelsOf(dataset) === undefined

/** What `readDataset` gives, or what was made like it. */
export const datasetCodec: t.Type<Dataset> = decoding('a dataset', (value) =>
  pipe(
    decodeAs('dataset', fields)(value),
    E.filterOrElse(
      (dataset) => !mixed(dataset),
      () => 'its examples have labels or masks, not both'
    ),
    E.filterOrElse(
      ({ names, classes }) => names === undefined || names.length === classes,
      ({ names, classes }) => `it has ${names?.length} names for ${classes} classes`
    )
  )
)

/** A path, or a dataset. */
export const dataCodec = objectOr<Dataset, string>('a path, or what readDataset gives', datasetCodec, path)

const share = accepting<number>('a share', (value) => typeof value === 'number' && value > 0 && value < 1)

/** What sets a share of the data aside, too. */
export const validationCodec = objectOr<Dataset, string | number>(
  'a path, a share above 0 and below 1, or a dataset',
  datasetCodec,
  accepting('a path or a share', (value) => path.is(value) || share.is(value))
)

interface Reading {
  readonly path: string
  readonly option?: string
}

const reading = optionsOf<Reading>('readDataset', { path }, { option: text })
const answer = answering(reading, ({ path, option }) => read(path, option))

/**
 * A CSV file of path,label or path,mask rows (paths relative to the file; a first row with these
 * words is a header, and without one a second column that ends in .png holds masks), or a folder
 * with one folder of images a class (labels in the order of their names). Every image must exist;
 * masks are read, 8-bit PNG of their images' sizes whose values are classes, 255 ignored. `option`
 * names it in sentences.
 */
export const readDataset = (path: string, option = '--data'): Outcome<Dataset> => answer({ path, option })
