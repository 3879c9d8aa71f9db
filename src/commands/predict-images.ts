import { basename } from 'node:path'
import * as E from 'fp-ts/Either'
import { groupBy } from 'fp-ts/NonEmptyArray'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { Graph } from '../../staging'
import { type Failure, type Outcome, inputFailure } from '../failure'
import { namedPaths } from '../files/paths'
import { isGeoJsonName } from '../datasets/annotations/annotations'
import { imageNotices } from '../images/image-notices'
import { type ImageSource, openImage } from '../images/image-source'
import { checkDiskSpace } from '../images/mapped-image-file'
import { mostMaskBytes } from '../datasets/masks/masks'
import { type Extent2, extentText } from '../images/resolution'
import { sourceFor } from '../predicting/input-channels'
import type { Planned } from '../plans/plan-network'
import { pickWatching } from '../plans/watching'
import { type Predictions, type UsedByImages, addUsage, gatherPredictions, gatherWork } from './gather-predictions'
import { windowHostBytes } from '../predicting/input'
import { type ListedImage, listImages } from '../predicting/listed-images'
import { type PlannedPrediction, forwardGraph, planForward, planPrediction, planScores } from '../predicting/plan-images'
import { countPredictedClasses, makePixelScores } from '../predicting/pixel-scores'
import { type PredictedKind, predictedKind, makePrediction } from '../predicting/prediction'
import { type Wanted, checkFormats, checkKind, checkResultNames, checkResultPaths, listResultFiles } from '../predicting/result-files'
import { type Opened, type PredictedImage, runImages } from '../predicting/run-images'
import { type ClassNames, findClassIndex, resolveClassNames } from '../results/class-names'
import { type ClassMapOptions, writeClasses } from '../results/class-map'
import { writeProbabilities } from '../results/probability-map'
import { tableWriters } from '../results/scores-csv'
import type { Ranks } from '../ranks/ranks'
import type { PlannedWindows } from '../running/plan-windows'
import { tap } from '../tasks/tap'
import type { PredictReport } from './predict-report'
import { type PlacedImage, type Progress, skip, tellProgress } from './predict-progress'
import { type DecodedPredictOptions, type PreparedPrediction, preparePrediction } from './prepare-prediction'

interface Job extends PlacedImage, Opened {
  readonly files: readonly string[]
}

/** The names of the classes, and which of them polygons leave out. */
type Classes = Pick<ClassMapOptions, 'names' | 'background'>

/** A single name is that of class 1, where a single score tells it from all else. */
const withBackground = (given: ClassNames | undefined): ClassNames | undefined =>
  given?.names.length === 1 ? { ...given, names: ['background', ...given.names] } : given

const resolveClasses = (
  { options: { background }, classNames }: Run,
  { of, classes }: PredictedKind,
  channels: number
): E.Either<Failure, Classes> =>
  pipe(
    resolveClassNames(of === 'pixels' && channels === 1 ? withBackground(classNames) : classNames, classes),
    E.bindTo('names'),
    E.bind('background', ({ names }) => (background === undefined ? E.right(undefined) : findClassIndex('--background', background, names)))
  )

const record =
  (options: DecodedPredictOptions, progress: Progress, planned: Planned, classes: Classes, { scores }: PredictedKind) =>
  ({ image, input, prediction, milliseconds, repeatedTiles, network, outputs }: PredictedImage<Job>): Outcome<void> => {
    const { found } = progress
    const { path, files, at } = image
    const { height, width } = input
    const { probabilities, onNotice } = options
    const { header } = image.source
    const write = (file: string): Outcome<void> =>
      probabilities === undefined
        ? writeClasses(file, {
            ...{ ...classes, header, onNotice, hasPalette: options.palette },
            parts: outputs.io.parts('classes'),
            leave: outputs.io.leaveToFile
          })
        : writeProbabilities(file, {
            header,
            onNotice,
            softmax: scores === 'softmax',
            elementType: probabilities,
            scores: makePixelScores(outputs)
          })
    return pipe(
      TE.traverseSeqArray(write)(files),
      TE.map(() => {
        const predicted = { path, height, width, milliseconds, ...prediction, ...(files.length > 0 && { files }) }
        const held = windowHostBytes(input)
        const { measuredPeakBytes } = network
        const used: UsedByImages = {
          ...{ strategy: planned.staged.strategy, milliseconds, peakDeviceBytes: measuredPeakBytes() },
          predictedPeakBytes: planned.staged.predicted.peakDeviceBytes,
          ...(repeatedTiles > 0 && { repeatedTiles }),
          ...(held !== undefined && { windowBytes: held })
        }
        found.images.push([at, predicted])
        found.used = found.used === undefined ? used : addUsage(found.used, used)
        options.onImage?.(predicted)
        tellProgress(options, progress)
      })
    )
  }

/** A PNG of a large mask needs room on the way. */
const checkRoom = ({ files, source: { header } }: Job): Outcome<unknown> => {
  const png = files.find((file) => file.toLowerCase().endsWith('.png'))
  const bytes = header.height * header.width
  return png !== undefined && bytes > mostMaskBytes ? checkDiskSpace(`the mask ${png}`, bytes) : TE.right(undefined)
}

/** Tells, of the first images alone, that they are predicted by windows. */
const sayWindows = (
  { onNotice }: DecodedPredictOptions,
  progress: Progress,
  model: string,
  extent: Extent2,
  { window, fields }: PlannedWindows
): void => {
  if (fields === undefined || progress.saidWindows === true) return
  progress.saidWindows = true
  onNotice?.(
    `${model} does not keep the sides of images of ${extentText(extent)}: they are predicted by windows of ${extentText(window)}, as a validation does`
  )
}

interface Run extends PreparedPrediction {
  readonly options: DecodedPredictOptions
  readonly wanted: Wanted
  readonly progress: Progress
}

/** What the model predicts; fails where that is nothing, or not as is asked for. */
const findKind = ({ wanted, loss }: Run, graph: Graph): E.Either<Failure, PredictedKind> =>
  pipe(
    predictedKind(graph, loss),
    E.chainFirst((kind) => checkKind(wanted, graph.model, kind))
  )

/** Refuses, before kernels are measured, what the model cannot predict, or not as is asked for. */
const checkPrediction = (run: Run, first: ImageSource): E.Either<Failure, unknown> =>
  pipe(
    sourceFor(run.options, run.trained, first),
    E.chain((source) => forwardGraph(run.setup, { ...first.header, channels: first.channels }, source)),
    E.fold(
      // The plan says why there is none, and may be made by windows.
      () => E.right(undefined),
      (graph): E.Either<Failure, unknown> => findKind(run, graph)
    )
  )

/** Images of one extent, by one plan. */
const predictAlike = (run: Run, images: readonly Job[]): Outcome<unknown> => {
  const { options, setup, weights, reading, trained, progress } = run
  const [{ source: first }] = images as readonly [Job]
  const { height, width } = first.header
  const extent = { height, width, channels: first.channels }
  const skipOne = skip(options, progress)
  const hasProbabilities = options.probabilities !== undefined
  const planning = pipe(
    TE.fromEither(sourceFor(options, trained, first)),
    TE.bindTo('source'),
    TE.chain(({ source }) => planPrediction(hasProbabilities ? planScores : planForward, setup, extent, source, pickWatching(options))),
    TE.map((found): E.Either<Failure, PlannedPrediction> => E.right(found)),
    TE.orElse((failure) =>
      TE.map((): E.Either<Failure, PlannedPrediction> => E.left(failure))(
        TE.traverseSeqArray((image: Job) => skipOne(image, failure))(images)
      )
    )
  )
  return pipe(
    TE.fromEither(checkPrediction(run, first)),
    TE.chain(() => planning),
    TE.chain(
      E.fold(
        () => TE.right<Failure, unknown>(undefined),
        ({ windows, graph }) =>
          pipe(
            TE.fromEither(findKind(run, graph)),
            TE.bindTo('kind'),
            TE.bind('classes', ({ kind }) => TE.fromEither(resolveClasses(run, kind, graph.nodes.at(-1)!.input[1]))),
            tap(({ kind, classes: { names } }) => {
              progress.found.kind = { ...kind, names, isNamed: run.classNames !== undefined }
              sayWindows(options, progress, graph.model, extent, windows)
              options.onPlan?.(windows.planned)
            }),
            TE.chainFirst(() => TE.traverseSeqArray(checkRoom)(images)),
            TE.chain(({ kind, classes }) =>
              runImages<Job>({
                windows,
                device: setup.device,
                weights,
                images,
                reading,
                predictionOf: hasProbabilities
                  ? (_, __, outputs) => countPredictedClasses(makePixelScores(outputs))
                  : makePrediction(kind.scores),
                signal: options.signal,
                onPredicted: record(options, progress, windows.planned, classes, kind),
                onFailure: skipOne
              })
            )
          )
      )
    )
  )
}

/** Opens each image, which says its extent, and tells what is not read of them. */
const openAll = ({ options, wanted, reading, progress }: Run, listed: readonly PlacedImage[]): Outcome<readonly Job[]> =>
  pipe(
    listed,
    TE.traverseSeqArray((image) =>
      pipe(
        openImage(image.path, reading),
        TE.map((source): Job | undefined => ({ ...image, source, files: listResultFiles(wanted, image) })),
        TE.orElse((failure) => TE.map((): Job | undefined => undefined)(skip(options, progress)(image, failure)))
      )
    ),
    TE.map((jobs) => jobs.flatMap((job) => job ?? [])),
    tap((jobs) =>
      imageNotices(jobs.map(({ path, source: { header }, files }) => ({ path, header, hasGeoJson: files.some(isGeoJsonName) }))).forEach(
        (said) => options.onNotice?.(said)
      )
    )
  )

/** Images of the same extent stand together, so that each extent is planned once. */
const byExtent = groupBy(({ source: { header, channels, elementType } }: Job) => `${extentText(header)} ${channels} ${elementType}`)

const listWantedImages = ({ image, data }: DecodedPredictOptions): Outcome<readonly ListedImage[]> => {
  if (image !== undefined && data !== undefined) return TE.left(inputFailure('--image and --data both say what is predicted: give one'))
  if (data !== undefined) return listImages(data)
  return image === undefined
    ? TE.left(inputFailure('image is missing: give one, or with --data a folder of images or a CSV file of their paths'))
    : TE.right([{ path: image, name: basename(image) }])
}

/** The table of scores, where one is asked for. */
const writeTable = ({ out }: DecodedPredictOptions, { images, kind }: Predictions): Outcome<void> => {
  if (out === undefined || kind?.of !== 'image') return TE.right(undefined)
  return tableWriters[kind.scores](
    out,
    kind.names,
    images.map(([, image]) => image)
  )
}

const makeReport = (
  { data }: DecodedPredictOptions,
  { images, skipped, firstFailure, used, kind }: Predictions
): E.Either<Failure, PredictReport> => {
  const predicted = images.map(([, image]) => image)
  if (used === undefined) return E.left(firstFailure!.failure)
  const named = kind?.isNamed === true ? { ...used, names: kind.names } : used
  if (data === undefined) return E.right({ ...predicted[0], ...named })
  return E.right({ ...named, images: predicted, skipped: skipped.map(({ path, message }) => ({ path, message })) })
}

/** Every so many images of a list, from this rank's number on: all where there are no ranks. */
const ownImages = (listed: readonly ListedImage[], ranks: Ranks | undefined): readonly PlacedImage[] =>
  listed.map((image, at) => ({ ...image, at })).filter(({ at }) => ranks === undefined || at % ranks.size === ranks.rank)

/**
 * Predicts the image, or the images of a list, that the options name. Ranks share a list; each
 * writes what there is of its own images, and the first the table of all.
 */
export const predictImages = (options: DecodedPredictOptions, ranks?: Ranks): Outcome<PredictReport> => {
  const wanted: Wanted = {
    ...{ out: options.out, isList: options.data !== undefined, formats: options.formats ?? ['tif'] },
    hasProbabilities: options.probabilities !== undefined,
    hasPalette: options.palette,
    hasBackground: options.background !== undefined
  }
  const progress: Progress = { found: { images: [], skipped: [] } }
  return pipe(
    listWantedImages(options),
    TE.bindTo('listed'),
    TE.let('files', ({ listed }) => listed.flatMap((image) => listResultFiles(wanted, image))),
    TE.chainFirstEitherK(({ files }) => checkFormats(wanted, files)),
    TE.chainFirstEitherK(({ listed }) => checkResultNames(wanted, listed)),
    TE.bind('prepared', ({ listed, files }) =>
      preparePrediction(
        options,
        listed.map(({ path }) => path),
        files.length > 0 ? files.map((path) => ({ name: '--out', path })) : namedPaths('--out', options.out),
        checkResultPaths(wanted, files)
      )
    ),
    TE.let('run', ({ prepared }): Run => ({ ...prepared, options, wanted, progress })),
    TE.bind('jobs', ({ run, listed }) => openAll(run, ownImages(listed, ranks))),
    tap(({ jobs }) => void (progress.total = jobs.length + progress.found.skipped.length)),
    gatherWork(ranks, ({ jobs }) => jobs.map(({ source }) => source.header)),
    TE.chain(({ run, jobs, work }) =>
      pipe(
        TE.traverseSeqArray((images: readonly Job[]) => predictAlike(run, images))(Object.values(byExtent([...jobs]))),
        gatherPredictions(ranks, work, progress.found)
      )
    ),
    TE.chainFirst((predictions) => (ranks === undefined || ranks.rank === 0 ? writeTable(options, predictions) : TE.right(undefined))),
    TE.chainEitherK((predictions) => makeReport(options, predictions))
  )
}
