import { dirname, extname, join } from 'node:path'
import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type Failure, type Outcome, inputFailure, errorReason } from '../failure'
import { checkAllWritable, checkWritable } from '../files/atomic-write'
import { makeFolder } from '../files/make-folder'
import { type ResultFormat, parseResultFormat } from '../results/formats'
import type { ListedImage } from './listed-images'
import type { PredictedKind } from './prediction'

/** What of predictions is to be written, and where. */
export interface Wanted {
  readonly out: string | undefined
  /** Bands of probabilities instead of classes. */
  readonly hasProbabilities: boolean
  /** Colours of classes, in a *.tif. */
  readonly hasPalette: boolean
  /** A class that polygons, in a *.geojson, leave out. */
  readonly hasBackground: boolean
  /** A list of images was given, and so `out` is a folder of masks, or a table of scores. */
  readonly isList: boolean
  readonly formats: readonly ResultFormat[]
}

const isTable = (path: string): boolean => extname(path).toLowerCase() === '.csv'

/** The files of one image, which are known before it is predicted. */
export const listResultFiles = ({ out, isList, formats }: Wanted, { name }: ListedImage): readonly string[] => {
  if (out === undefined || isTable(out)) return []
  const stem = name.slice(0, name.length - extname(name).length)
  return isList ? formats.map((format) => join(out, `${stem}.${format}`)) : [out]
}

/**
 * Refuses images whose names differ in their endings alone, which their results do not have, and
 * one that stands in the list twice.
 */
export const checkResultNames = (wanted: Wanted, images: readonly ListedImage[]): E.Either<Failure, void> => {
  const imageOf = new Map<string, string>()
  for (const image of images)
    for (const file of listResultFiles(wanted, image)) {
      const other = imageOf.get(file)
      if (other !== undefined)
        return E.left(
          inputFailure(
            other === image.path
              ? `${other} stands in the list twice, and would be written to ${file} twice: leave one out`
              : `${other} and ${image.path} would both be written to ${file}: rename one, or predict it by itself`
          )
        )
      imageOf.set(file, image.path)
    }
  return E.right(undefined)
}

/** Checks, before long work, that the name says a format and that files can be written there. */
export const checkResultPaths = ({ out, isList }: Wanted, files: readonly string[]): Outcome<void> => {
  if (out === undefined) return TE.right(undefined)
  if (isTable(out)) return checkWritable(out)
  if (!isList)
    return pipe(
      TE.fromEither(parseResultFormat(out)),
      TE.chain(() => checkWritable(out))
    )
  const folders = [...new Set(files.map((file) => dirname(file)))]
  return pipe(
    TE.tryCatch(
      async () => {
        for (const folder of folders) await makeFolder(folder)
      },
      (thrown) => inputFailure(`--out ${out}: no folder can be made there (${errorReason(thrown)})`)
    ),
    TE.chain(() => checkAllWritable(files))
  )
}

/** Probabilities go to *.tif alone, and what is of one format is wanted of no other. */
export const checkFormats = (wanted: Wanted, files: readonly string[]): E.Either<Failure, void> => {
  const { hasProbabilities, formats, isList } = wanted
  for (const [isAsked, option, format, pattern] of [
    [wanted.hasPalette, '--palette', 'tif', /\.tiff?$/i],
    [wanted.hasBackground, '--background', 'geojson', /\.geojson$/i]
  ] as const)
    if (isAsked && !files.some((file) => pattern.test(file)))
      return E.left(
        inputFailure(
          `${option} is of a *.${format}, and none is written: leave it out, or give ${isList ? `--out and --formats ${format}` : `--out *.${format}`}`
        )
      )
  const other = hasProbabilities ? files.find((file) => !/\.tiff?$/i.test(file)) : undefined
  if (other === undefined) return E.right(undefined)
  const given = isList ? `--formats ${formats.join(',')}` : `--out ${other}`
  return E.left(
    inputFailure(`--probabilities are bands of a *.tif, but ${given} is another format: give ${isList ? '--formats tif' : '*.tif'}`)
  )
}

/** Masks go to files, of a model that scores pixels alone; scores to a table, or nowhere. */
export const checkKind = ({ out, isList, hasProbabilities }: Wanted, model: string, { of }: PredictedKind): E.Either<Failure, void> => {
  const table = out !== undefined && isTable(out)
  if (of === 'pixels' && isList && out !== undefined && E.isRight(parseResultFormat(out)))
    return E.left(
      inputFailure(`--out ${out}: with --data it is a folder of masks, whose formats --formats says: give a name without ${extname(out)}`)
    )
  if (of === 'pixels' && (out === undefined || table))
    return E.left(inputFailure(`${model} scores every pixel: give --out, ${isList ? 'a folder of masks' : '*.tif, *.png or *.geojson'}`))
  if (of === 'image' && hasProbabilities)
    return E.left(inputFailure(`${model} scores whole images, whose probabilities are told with the scores: leave out --probabilities`))
  if (of === 'image' && out !== undefined && !table)
    return E.left(
      inputFailure(
        `${model} scores whole images, which are ${isList ? 'written to a *.csv: name one as --out' : 'printed, or written to a *.csv: leave out --out, or name one'}`
      )
    )
  return E.right(undefined)
}
