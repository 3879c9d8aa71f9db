import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import * as t from 'io-ts'
import { decodeAs } from '../../staging/decoding/decode'
import { strictObject } from '../../staging/decoding/strict-object'
import { predicateCodec } from '../../staging/decoding/predicate-codec'
import { decoderCodec, fromZeroCodec, boundedListCodec, objectOrCodec, pathCodec, textCodec, wholeNumberCodec } from '../options/codecs'
import { type AnnotationRules, type ClassAlias, ignoredLabel } from './class-list'
import { type Dataset, type Example, labelKind } from './dataset'
import { maxLabel } from './dataset-csv'
import type { ClassSet, Label, TargetValues } from './labels'
import type { Mask } from './masks/masks'
import { maxClasses } from '../options/limits'
import { parseFraction } from '../options/sizes'

const aliasCodec = strictObject<ClassAlias>('a class', 'field', { name: textCodec, value: wholeNumberCodec(0, ignoredLabel) }, {})
const annotationCodec = strictObject<AnnotationRules>(
  'an annotation',
  'field',
  { aliases: boundedListCodec(aliasCodec), outside: wholeNumberCodec(0, ignoredLabel) },
  {}
)
const maskCodec = strictObject<Mask>(
  'a mask',
  'field',
  { path: pathCodec, height: wholeNumberCodec(1), width: wholeNumberCodec(1), counts: boundedListCodec(wholeNumberCodec(0), 256, 256) },
  { annotation: annotationCodec }
)

const finite = predicateCodec<number>('a number', Number.isFinite)
const classSetCodec = strictObject<ClassSet>('a set of classes', 'field', { classes: boundedListCodec(wholeNumberCodec(0, maxLabel)) }, {})
const valuesCodec = strictObject<TargetValues>('values', 'field', { values: boundedListCodec(finite, 1) }, {})

/** An object by the field that only one kind has. */
const labelObject = new t.Type<Exclude<Label, number>>(
  'a mask, a set of classes or values',
  (value): value is Exclude<Label, number> => maskCodec.is(value) || classSetCodec.is(value) || valuesCodec.is(value),
  (value, context) => {
    const fields = Object.keys(value ?? {})
    if (fields.includes('classes')) return classSetCodec.validate(value, context)
    return fields.includes('values') ? valuesCodec.validate(value, context) : maskCodec.validate(value, context)
  },
  t.identity
)

const exampleCodec = strictObject<Example>(
  'an example',
  'field',
  {
    path: pathCodec,
    label: objectOrCodec<Exclude<Label, number>, number>(
      `a whole number from 0 to ${maxLabel}, or a mask`,
      labelObject,
      wholeNumberCodec(0, maxLabel)
    ),
    origin: textCodec
  },
  { weight: fromZeroCodec, tissue: pathCodec }
)

const fields = strictObject<Dataset>(
  'a dataset',
  'field',
  { examples: boundedListCodec(exampleCodec, 1), classes: wholeNumberCodec(1, maxClasses) },
  { names: boundedListCodec(textCodec), source: pathCodec, leftOut: textCodec, skippedFiles: boundedListCodec(textCodec) }
)

/** A dataset that `readDataset` gave, or one that was made like it. */
const datasetCodec: t.Type<Dataset> = decoderCodec('a dataset', (value) =>
  pipe(
    decodeAs('dataset', fields)(value),
    E.filterOrElse(
      (dataset) => labelKind(dataset) !== undefined,
      () => 'its examples have labels or masks, not both'
    ),
    E.filterOrElse(
      ({ names, classes }) => names === undefined || names.length === classes,
      ({ names, classes }) => `it has ${names?.length} names for ${classes} classes`
    )
  )
)

/** A path, or a dataset. */
export const dataCodec = objectOrCodec<Dataset, string>('a path, or what readDataset gives', datasetCodec, pathCodec)

const share = predicateCodec<number>('a share', (value) => typeof value === 'number' && value > 0 && value < 1)

/**
 * A dataset to validate on, or the share of the data that is set aside for it, of which the text is
 * read.
 */
export const validationCodec = objectOrCodec<Dataset, string | number>(
  'a path, a share above 0 and below 1, or a dataset',
  datasetCodec,
  new t.Type<string | number>(
    'a path or a share',
    (value): value is string | number => pathCodec.is(value) || share.is(value),
    (value, context) => {
      if (share.is(value)) return t.success(value)
      return pathCodec.is(value) ? t.success(parseFraction(value) ?? value) : t.failure(value, context)
    },
    t.identity
  )
)
