import { basename } from 'node:path'
import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type Failure, type Outcome, inputFailure } from '../failure'
import { namedPaths } from '../files/paths'
import { imageNotices } from '../images/image-notices'
import { openImage } from '../images/image-source'
import { checkDiskSpace } from '../images/mapped-image-file'
import { mostMaskBytes } from '../images/masks'
import { extentText } from '../images/resolution'
import { sourceFor } from '../predicting/input-channels'
import type { ImagePrediction } from '../option-tables/command-options'
import type { Planned } from '../plans/plan-network'
import { pickWatching } from '../plans/watching'
import { heldBytes } from '../predicting/input'
import { type ListedImage, listImages } from '../predicting/listed-images'
import { planForward } from '../predicting/plan-images'
import { type PredictedKind, predictedKind } from '../predicting/prediction'
import { type Wanted, checkKind, checkResultPaths, resultFilesOf } from '../predicting/result-files'
import { type Opened, type PredictedImage, runImages } from '../predicting/run-images'
import { classIndexOf, classNamesOf } from '../results/class-names'
import { type ClassMapOptions, writeClasses } from '../results/class-map'
import { probabilitiesOf, writeScoresCsv } from '../results/scores-csv'
import { tap } from '../tasks/tap'
import type { PredictReport } from './predict-report'
import { type DecodedPredictOptions, type PreparedPrediction, preparePrediction } from './prepare-prediction'

interface Job extends ListedImage, Opened {
  /** Its place in the list. */
  readonly at: number
  readonly files: readonly string[]
}

/** What is known so far; grows while images are predicted. */
interface Progress {
  readonly images: (ImagePrediction | undefined)[]
  readonly skipped: { path: string; message: string }[]
  firstFailure?: Failure
  kind?: PredictedKind & { readonly names: readonly string[] }
  used?: Pick<PredictReport, 'strategy' | 'milliseconds' | 'peakDeviceBytes' | 'predictedPeakBytes' | 'windowBytes'>
}

/** Failures of one image; those of the device, or of a hand that stops it, are of all. */
const isOfImage = ({ code }: Failure): boolean => code === 'input' || code === 'budget' || code === 'loss'

/** Leaves an image out where that is asked for, and fails otherwise. */
const skip =
  ({ skipBad, onNotice }: DecodedPredictOptions, progress: Progress) =>
  ({ path }: ListedImage, failure: Failure): Outcome<void> => {
    if (!skipBad || !isOfImage(failure)) return TE.left(failure)
    progress.firstFailure ??= failure
    progress.skipped.push({ path, message: failure.message })
    onNotice?.(`${failure.message}; ${path} is left out`)
    return TE.right(undefined)
  }

/** The names of the classes, and which of them polygons leave out. */
type Classes = Pick<ClassMapOptions, 'names' | 'background'>

const classesOf = ({ classNames, background }: DecodedPredictOptions, classes: number): E.Either<Failure, Classes> =>
  pipe(
    classNamesOf(classNames?.names, classes),
    E.bindTo('names'),
    E.bind('background', ({ names }) => (background === undefined ? E.right(undefined) : classIndexOf('--background', background, names)))
  )

const record =
  (options: DecodedPredictOptions, progress: Progress, planned: Planned, classes: Classes) =>
  ({ image, input, prediction, milliseconds, network }: PredictedImage<Job>): Outcome<void> => {
    const { path, files, at } = image
    const { height, width } = input
    return pipe(
      TE.traverseSeqArray((file: string) =>
        writeClasses(file, {
          ...classes,
          header: image.source.header,
          parts: network.io.parts('classes'),
          leave: network.io.leaveToFile,
          hasPalette: options.palette
        })
      )(files),
      TE.map(() => {
        const predicted = { path, height, width, milliseconds, ...prediction, ...(files.length > 0 && { files }) }
        const held = heldBytes(input)
        const before = progress.used
        progress.images[at] = predicted
        progress.used = {
          strategy: planned.staged.strategy,
          milliseconds: milliseconds + (before?.milliseconds ?? 0),
          peakDeviceBytes: Math.max(network.measuredPeakBytes(), before?.peakDeviceBytes ?? 0),
          predictedPeakBytes: Math.max(planned.staged.predicted.peakDeviceBytes, before?.predictedPeakBytes ?? 0),
          ...(before?.windowBytes === undefined ? {} : { windowBytes: before.windowBytes }),
          ...(held === undefined ? {} : { windowBytes: held })
        }
        options.onImage?.(predicted)
      })
    )
  }

/** A PNG of a large mask needs room on the way. */
const checkRoom = ({ files, source: { header } }: Job): Outcome<unknown> => {
  const png = files.find((file) => file.toLowerCase().endsWith('.png'))
  const bytes = header.height * header.width
  return png !== undefined && bytes > mostMaskBytes ? checkDiskSpace(`the mask ${png}`, bytes) : TE.right(undefined)
}

interface Run extends PreparedPrediction {
  readonly options: DecodedPredictOptions
  readonly wanted: Wanted
  readonly progress: Progress
}

/** Images of one extent, by one plan. */
const predictAlike = ({ options, wanted, setup, weights, reading, trained, progress }: Run, images: readonly Job[]): Outcome<unknown> => {
  const [{ source: first }] = images as readonly [Job]
  const { height, width } = first.header
  const skipOne = skip(options, progress)
  return pipe(
    TE.fromEither(sourceFor(options, trained, first)),
    TE.chain((source) => planForward(setup, { height, width, channels: first.channels }, source, pickWatching(options))),
    TE.map((planned): E.Either<Failure, Planned> => E.right(planned)),
    TE.orElse((failure) =>
      TE.map((): E.Either<Failure, Planned> => E.left(failure))(TE.traverseSeqArray((image: Job) => skipOne(image, failure))(images))
    ),
    TE.chain(
      E.fold(
        () => TE.right<Failure, unknown>(undefined),
        (planned) =>
          pipe(
            TE.fromEither(predictedKind(planned.staged.graph)),
            TE.chainFirstEitherK((kind) => checkKind(wanted, planned.staged.graph.model, kind)),
            TE.bindTo('kind'),
            TE.bind('classes', ({ kind }) => TE.fromEither(classesOf(options, kind.classes))),
            tap(({ kind, classes: { names } }) => {
              progress.kind = { ...kind, names }
              options.onPlan?.(planned)
            }),
            TE.chainFirst(() => TE.traverseSeqArray(checkRoom)(images)),
            TE.chain(({ classes }) =>
              runImages<Job>({
                planned,
                device: setup.device,
                weights,
                images,
                reading,
                signal: options.signal,
                onPredicted: record(options, progress, planned, classes),
                onFailure: skipOne
              })
            )
          )
      )
    )
  )
}

/** Opens each image, which says its extent, and tells what is not read of them. */
const openAll = ({ options, wanted, reading, progress }: Run, listed: readonly ListedImage[]): Outcome<readonly Job[]> =>
  pipe(
    listed.map((image, at) => ({ ...image, at })),
    TE.traverseSeqArray((image) =>
      pipe(
        openImage(image.path, reading),
        TE.map((source): Job | undefined => ({ ...image, source, files: resultFilesOf(wanted, image) })),
        TE.orElse((failure) => TE.map((): Job | undefined => undefined)(skip(options, progress)(image, failure)))
      )
    ),
    TE.map((jobs) => jobs.flatMap((job) => job ?? [])),
    tap((jobs) => imageNotices(jobs.map(({ path, source: { header } }) => ({ path, header }))).forEach((said) => options.onNotice?.(said)))
  )

/** Images of the same extent stand together, so that each extent is planned once. */
const byExtent = (jobs: readonly Job[]): readonly (readonly Job[])[] => {
  const groups = new Map<string, Job[]>()
  for (const job of jobs) {
    const { header, channels, elementType } = job.source
    const extent = `${extentText(header)} ${channels} ${elementType}`
    groups.set(extent, [...(groups.get(extent) ?? []), job])
  }
  return [...groups.values()]
}

const listOf = ({ image, data }: DecodedPredictOptions): Outcome<readonly ListedImage[]> => {
  if (image !== undefined && data !== undefined) return TE.left(inputFailure('--image and --data both say what is predicted: give one'))
  if (data !== undefined) return listImages(data)
  return image === undefined
    ? TE.left(inputFailure('image is missing: give one, or as data a folder of images or a CSV file of their paths'))
    : TE.right([{ path: image, name: basename(image) }])
}

/** The table of scores, where one is asked for. */
const writeTable = ({ out }: DecodedPredictOptions, { images, kind }: Progress): Outcome<void> => {
  if (out === undefined || kind?.of !== 'image') return TE.right(undefined)
  const { names } = kind
  const rows = images.flatMap((image) =>
    image?.scores === undefined ? [] : [{ path: image.path, class: names[image.class!]!, shares: probabilitiesOf(image.scores) }]
  )
  return writeScoresCsv(out, names, rows)
}

const reportOf = ({ data }: DecodedPredictOptions, { images, skipped, firstFailure, used }: Progress): E.Either<Failure, PredictReport> => {
  const predicted = images.flatMap((image) => image ?? [])
  if (used === undefined) return E.left(firstFailure!)
  return E.right(data === undefined ? { ...predicted[0], ...used } : { ...used, images: predicted, skipped })
}

/** Predicts the image, or the images of a list, that the options name. */
export const predictImages = (options: DecodedPredictOptions): Outcome<PredictReport> => {
  const wanted: Wanted = { out: options.out, isList: options.data !== undefined, formats: options.formats ?? ['tif'] }
  const progress: Progress = { images: [], skipped: [] }
  return pipe(
    listOf(options),
    TE.bindTo('listed'),
    TE.let('files', ({ listed }) => listed.flatMap((image) => resultFilesOf(wanted, image))),
    TE.bind('prepared', ({ listed, files }) =>
      preparePrediction(
        options,
        listed.map(({ path }) => path),
        files.length > 0 ? files.map((path) => ({ name: '--out', path })) : namedPaths('--out', options.out),
        checkResultPaths(wanted, files)
      )
    ),
    TE.let('run', ({ prepared }): Run => ({ ...prepared, options, wanted, progress })),
    TE.chainFirst(({ run, listed }) =>
      pipe(
        openAll(run, listed),
        TE.chain((jobs) => TE.traverseSeqArray((images: readonly Job[]) => predictAlike(run, images))(byExtent(jobs)))
      )
    ),
    TE.chainFirst(() => writeTable(options, progress)),
    TE.chainEitherK(() => reportOf(options, progress))
  )
}
