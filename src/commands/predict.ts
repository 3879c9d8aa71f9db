import { basename } from 'node:path'
import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type Failure, type Outcome, inputFailure } from '../failure'
import { checkWritable } from '../files/atomic-write'
import { checkPaths, namedPaths } from '../files/paths'
import { imageNotices } from '../images/image-notices'
import { openImage } from '../images/image-source'
import { checkDiskSpace, removeLeftovers } from '../images/mapped-image-file'
import { extentText } from '../images/resolution'
import type { Reading } from '../images/samples'
import type { TrainedChannels } from '../weights/channel-metadata'
import { readingAsTrained, sourceFor } from '../predicting/input-channels'
import { resolutionOf } from '../option-tables/image-options'
import { type ImagePrediction, type PredictOptions, predictOptions } from '../option-tables/command-options'
import { libraryFunction } from '../options/decode-options'
import type { DecodedOptions } from '../options/option'
import type { Planned } from '../plans/plan-network'
import { resolveSetupWithoutInput, requireLocalDevice } from '../plans/resolve-setup'
import type { RunnableSetup } from '../plans/setup'
import { setupReads } from '../plans/setup-files'
import { pickWatching } from '../plans/watching'
import { heldBytes } from '../predicting/input'
import { type ListedImage, listImages } from '../predicting/listed-images'
import { planForward } from '../predicting/plan-images'
import { type PredictedKind, predictedKind } from '../predicting/prediction'
import { type Wanted, checkKind, checkWanted, resultFilesOf } from '../predicting/result-files'
import { type HeatMapReport, writeHeatMap } from '../predicting/write-heat-map'
import { type Opened, type PredictedImage, runImages } from '../predicting/run-images'
import { classIndexOf, classNamesOf } from '../results/class-names'
import { type ClassMapOptions, writeClasses } from '../results/class-map'
import type { HeatMapKind } from '../results/formats'
import { probabilitiesOf, writeScoresCsv } from '../results/scores-csv'
import { partBytes } from '../running/step-io'
import { tap } from '../tasks/tap'
import type { WeightSource } from '../weights/weights'

/** What a run over images took, and of a single one what came of it. */
export interface PredictReport extends Partial<ImagePrediction> {
  /** Of the last plan. */
  readonly strategy: string
  /** Of all forward passes. */
  readonly milliseconds: number
  readonly peakDeviceBytes: number
  readonly predictedPeakBytes: number
  /** Host memory of the windows that are read of an image in tiles. */
  readonly windowBytes?: number
  /** With `data`: each image that was predicted, in the order of the list. */
  readonly images?: readonly ImagePrediction[]
  /** With `heatmap`: what was written to `out`. */
  readonly heatMap?: HeatMapReport
  /** With `data`: images that were left out, and why. */
  readonly skipped?: readonly { readonly path: string; readonly message: string }[]
}

type Options = DecodedOptions<typeof predictOptions>

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
  ({ skipBad, onNotice }: Options, progress: Progress) =>
  ({ path }: ListedImage, failure: Failure): Outcome<void> => {
    if (!skipBad || !isOfImage(failure)) return TE.left(failure)
    progress.firstFailure ??= failure
    progress.skipped.push({ path, message: failure.message })
    onNotice?.(`${failure.message}; ${path} is left out`)
    return TE.right(undefined)
  }

/** The names of the classes, and which of them polygons leave out. */
type Classes = Pick<ClassMapOptions, 'names' | 'background'>

const classesOf = ({ classNames, background }: Options, classes: number): E.Either<Failure, Classes> =>
  pipe(
    classNamesOf(classNames, classes),
    E.bindTo('names'),
    E.bind('background', ({ names }) => (background === undefined ? E.right(undefined) : classIndexOf('--background', background, names)))
  )

const record =
  (options: Options, progress: Progress, planned: Planned, classes: Classes) =>
  ({ image, input, prediction, milliseconds, network }: PredictedImage<Job>): Outcome<void> => {
    const { path, files, at } = image
    const { height, width } = input
    return pipe(
      TE.traverseSeqArray((file: string) =>
        writeClasses(file, { ...classes, header: image.source.header, parts: network.io.parts('classes'), hasPalette: options.palette })
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

/** A PNG of a mask in several parts needs room on the way. */
const checkRoom = ({ files, source: { header } }: Job): Outcome<unknown> => {
  const png = files.find((file) => file.toLowerCase().endsWith('.png'))
  const bytes = header.height * header.width
  return png !== undefined && bytes > partBytes ? checkDiskSpace(`the mask ${png}`, bytes) : TE.right(undefined)
}

interface Run {
  readonly options: Options
  readonly wanted: Wanted
  readonly setup: RunnableSetup
  readonly weights: WeightSource
  readonly resolution: Reading
  readonly trained?: TrainedChannels
  readonly progress: Progress
}

/** Weights are read for each extent; what is said of them, once. */
const weightsOf = ({ weights, onNotice }: Options): WeightSource => {
  const told = new Set<string>()
  return { path: weights, onNotice: (sentence) => void (told.has(sentence) || (told.add(sentence), onNotice?.(sentence))) }
}

/** Images of one extent, by one plan. */
const predictAlike = (
  { options, wanted, setup, weights, resolution, trained, progress }: Run,
  images: readonly Job[]
): Outcome<unknown> => {
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
                resolution,
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
const openAll = (
  { options, wanted, resolution, progress }: Omit<Run, 'setup' | 'weights'>,
  listed: readonly ListedImage[]
): Outcome<readonly Job[]> =>
  pipe(
    listed.map((image, at) => ({ ...image, at })),
    TE.traverseSeqArray((image) =>
      pipe(
        openImage(image.path, resolution),
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

const listOf = ({ image, data }: Options): Outcome<readonly ListedImage[]> => {
  if (image !== undefined && data !== undefined) return TE.left(inputFailure('--image and --data both say what is predicted: give one'))
  if (data !== undefined) return listImages(data)
  return image === undefined
    ? TE.left(inputFailure('image is missing: give one, or as data a folder of images or a CSV file of their paths'))
    : TE.right([{ path: image, name: basename(image) }])
}

/** The table of scores, where one is asked for. */
const writeTable = ({ out }: Options, { images, kind }: Progress): Outcome<void> => {
  if (out === undefined || kind?.of !== 'image') return TE.right(undefined)
  const { names } = kind
  const rows = images.flatMap((image) =>
    image?.scores === undefined ? [] : [{ path: image.path, class: names[image.class!]!, shares: probabilitiesOf(image.scores) }]
  )
  return writeScoresCsv(out, names, rows)
}

const reportOf = ({ data }: Options, { images, skipped, firstFailure, used }: Progress): E.Either<Failure, PredictReport> => {
  const predicted = images.flatMap((image) => image ?? [])
  if (used === undefined) return E.left(firstFailure!)
  return E.right(data === undefined ? { ...predicted[0], ...used } : { ...used, images: predicted, skipped })
}

const predictListed = (options: Options): Outcome<PredictReport> => {
  const wanted: Wanted = { out: options.out, isList: options.data !== undefined, formats: options.formats ?? ['tif'] }
  const progress: Progress = { images: [], skipped: [] }
  return pipe(
    listOf(options),
    TE.bindTo('listed'),
    TE.let('files', ({ listed }) => listed.flatMap((image) => resultFilesOf(wanted, image))),
    TE.chainFirst(({ listed, files }) =>
      checkPaths({
        reads: [
          ...setupReads(options),
          ...namedPaths('--weights', options.weights),
          ...namedPaths('--data', options.data),
          ...listed.map(({ path }) => ({ name: '--image', path }))
        ],
        writes: files.length > 0 ? files.map((path) => ({ name: '--out', path })) : namedPaths('--out', options.out)
      })
    ),
    TE.bind('setup', () => TE.chainEitherK(requireLocalDevice)(resolveSetupWithoutInput(options))),
    TE.chainFirstTaskK(() => removeLeftovers),
    TE.chainFirst(({ files }) => checkWanted(wanted, files)),
    TE.bind('read', () => TE.chain((asked: Reading) => readingAsTrained(options.weights, asked))(TE.fromEither(resolutionOf(options)))),
    TE.let('run', ({ setup, read: { reading, trained } }): Run => ({
      options,
      wanted,
      setup,
      weights: weightsOf(options),
      resolution: reading,
      ...(trained && { trained }),
      progress
    })),
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

const checkHeatMap = ({
  out,
  class: of,
  data,
  image,
  skipBad
}: Options): E.Either<Failure, readonly [image: string, out: string, of: string]> => {
  const fail = (fault: string): E.Either<Failure, never> => E.left(inputFailure(`--heatmap ${fault}`))
  if (image === undefined || data !== undefined || skipBad) return fail('is of one image: give --image, without --data and --skip-bad')
  if (of === undefined) return fail('is of one class: give --class, its name or number')
  return out !== undefined && /\.(tiff?|png)$/i.test(out) ? E.right([image, out, of]) : fail('is a picture: give --out, *.tif or *.png')
}

/** Where in an image a class is seen. */
const predictHeatMap =
  (kind: HeatMapKind) =>
  (options: Options): Outcome<PredictReport> =>
    pipe(
      TE.fromEither(checkHeatMap(options)),
      TE.chainFirst(([image, out]) =>
        checkPaths({
          reads: [...setupReads(options), { name: '--weights', path: options.weights }, { name: '--image', path: image }],
          writes: namedPaths('--out', out)
        })
      ),
      TE.bindTo('asked'),
      TE.bind('setup', () => TE.chainEitherK(requireLocalDevice)(resolveSetupWithoutInput(options))),
      TE.chainFirstTaskK(() => removeLeftovers),
      TE.chainFirst(({ asked: [, out] }) => checkWritable(out)),
      TE.bind('read', () => TE.chain((asked: Reading) => readingAsTrained(options.weights, asked))(TE.fromEither(resolutionOf(options)))),
      TE.bind('source', ({ asked: [image], read: { reading } }) => openImage(image, reading)),
      TE.bind('normalisation', ({ source, read: { trained } }) => TE.fromEither(sourceFor(options, trained, source))),
      TE.bind('written', ({ asked: [, out, of], setup, source, normalisation, read: { reading } }) =>
        writeHeatMap(out, source, reading, {
          ...{ kind, setup, of, normalisation, weights: options.weights, names: options.classNames },
          ...{ watching: pickWatching(options), onPlan: options.onPlan }
        })
      ),
      TE.map(({ asked: [path, out], source: { header }, written: [heatMap, computed] }) => {
        const { strategy, milliseconds, peakDeviceBytes, predictedPeakBytes, windowBytes } = computed
        return {
          ...{ path, height: header.height, width: header.width, files: [out], heatMap },
          ...{ strategy, milliseconds, peakDeviceBytes, predictedPeakBytes, ...(windowBytes === undefined ? {} : { windowBytes }) }
        }
      })
    )

/**
 * Runs one forward pass over each image, of any size, normalised by running statistics and without
 * dropout, in tiles as the plan says: the result is that of the image untiled, and the device's
 * memory stays within the budget. Images of one extent have one plan. An image in tiles is read
 * window by window as the device needs it; any other of up to a gibibyte is in host memory, and so
 * is the mask. A model that scores pixels writes the class of each to `out`, *.tif (in tiles) or
 * *.png, 8-bit grey, or with `data` a file each into that folder; one that scores images answers
 * with `scores`, and with `data` writes a CSV. Fails with code `input`, `budget`, `loss` (not
 * finite) or `interrupted`.
 */
export const predict: (options: PredictOptions) => Outcome<PredictReport> = libraryFunction('predict', predictOptions, (options) =>
  options.heatmap === undefined ? predictListed(options) : predictHeatMap(options.heatmap)(options)
)
