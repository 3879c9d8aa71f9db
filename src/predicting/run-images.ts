import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { Failure, Outcome } from '../failure'
import type { ImageSource } from '../images/image-source'
import { placeUnflippedCrop } from '../images/crop-placement'
import type { Extent2 } from '../images/resolution'
import type { Reading } from '../images/samples'
import type { Planned } from '../plans/plan-network'
import { runInTurn } from '../running/run-in-turn'
import { type NetworkOptions, type RunningNetwork, withAbort } from '../running/running-network'
import { noUpdate } from '../running/step-parameters'
import type { PlannedWindows } from '../running/plan-windows'
import { type WindowSpan, windowSpans } from '../running/window-spans'
import { type Input, readInput } from './input'
import { type JoinedOutputs, joinWindows } from './join-windows'
import type { Outputs } from './outputs'
import type { PredictionResult } from './prediction'

/** An image whose prediction is there, on a network that still holds it. */
export interface PredictedImage<S> {
  readonly image: S
  readonly input: Input
  readonly prediction: PredictionResult
  readonly milliseconds: number
  /** Tiles that were not computed, since the one before served. */
  readonly repeatedTiles: number
  readonly network: RunningNetwork
  readonly outputs: Outputs
}

interface ImageRun<S> extends Pick<NetworkOptions, 'device' | 'weights'> {
  /** By how many windows, of what extent, an image is predicted. */
  readonly windows: PlannedWindows
  readonly images: readonly S[]
  readonly reading: Reading
  /** What was predicted, once it is known to be finite. */
  readonly predictionOf: (extent: Extent2, planned: Planned, outputs: Outputs) => E.Either<Failure, PredictionResult>
  readonly signal?: AbortSignal | undefined
  /** Takes what it needs before the next image. */
  readonly onPredicted: (predicted: PredictedImage<S>) => Outcome<unknown>
  /** After an image that cannot be read or predicted: a failure ends the run. */
  readonly onFailure: (image: S, failure: Failure) => Outcome<unknown>
}

/** A failure of what was predicted, which of many images has to be said. */
const ofImage =
  ({ source }: Opened) =>
  (failure: Failure): Failure => ({ ...failure, message: `${source.path}: ${failure.message}` })

/** What has been opened, so that its extent is known. */
export interface Opened {
  readonly source: ImageSource
}

/** The step of one window; milliseconds that it took. */
const runWindow = <S>(
  { signal }: ImageRun<S>,
  network: RunningNetwork,
  input: Input,
  { start: top }: WindowSpan,
  { start: left }: WindowSpan
): Outcome<number> => withAbort(signal, network, network.step(noUpdate, [{ ...input, ...placeUnflippedCrop(top, left) }]))

/** An image's outputs, and milliseconds of its steps. */
interface Computed {
  readonly outputs: Outputs
  readonly milliseconds: number
}

type Join = typeof joinWindows

/** Images of one extent are joined in one place, each after what was made of the last is taken. */
const joinInOnePlace = (): Join => {
  let joined: JoinedOutputs | undefined
  return (program, extent) =>
    joined === undefined ? TE.map((made: JoinedOutputs) => (joined = made))(joinWindows(program, extent)) : TE.right(joined)
}

/** Runs the windows of an image one after the other, and takes of each what the others leave. */
const computeOutputs = <S>(run: ImageRun<S>, network: RunningNetwork, input: Input, join: Join): Outcome<Computed> => {
  const { planned, window, fields } = run.windows
  const { program } = planned.staged
  const [rows, columns] = [windowSpans(input.height, window.height, fields?.H), windowSpans(input.width, window.width, fields?.W)]
  if (rows.length * columns.length === 1)
    return TE.map((milliseconds: number): Computed => ({ outputs: { entries: program.step.stepIo, io: network.io }, milliseconds }))(
      runWindow(run, network, input, rows[0]!, columns[0]!)
    )
  const cut = rows.flatMap((row) => columns.map((column) => [row, column] as const))
  return pipe(
    join(program, input),
    TE.chain((outputs) =>
      pipe(
        cut,
        TE.traverseSeqArray(([row, column]) =>
          TE.map((milliseconds: number) => (outputs.add(network.io, row, column), milliseconds))(
            runWindow(run, network, input, row, column)
          )
        ),
        TE.map((each): Computed => ({ outputs, milliseconds: each.reduce((sum, one) => sum + one, 0) }))
      )
    )
  )
}

const predictImage = <S extends Opened>(run: ImageRun<S>, network: RunningNetwork, image: S, join: Join): Outcome<PredictedImage<S>> =>
  pipe(
    readInput(image.source, run.reading),
    TE.bindTo('input'),
    TE.let('before', () => network.repeatedTiles()),
    TE.bind('computed', ({ input }) => computeOutputs(run, network, input, join)),
    TE.bind('prediction', ({ input, computed: { outputs } }) =>
      pipe(run.predictionOf(input, run.windows.planned, outputs), E.mapLeft(ofImage(image)), TE.fromEither)
    ),
    TE.map(({ before, computed, ...rest }) => ({
      ...{ image, network, ...rest, ...computed },
      repeatedTiles: network.repeatedTiles() - before
    }))
  )

/** Predicts images of one extent, one after the other. */
export const runImages = <S extends Opened>(run: ImageRun<S>): Outcome<void> => {
  const join = joinInOnePlace()
  return runInTurn({
    ...run,
    planned: run.windows.planned,
    what: 'what is predicted',
    run: (network, image) =>
      pipe(
        predictImage(run, network, image, join),
        TE.foldW(
          (failure) => TE.right<Failure, Failure | undefined>(failure),
          (predicted) => TE.map(() => undefined)(run.onPredicted(predicted))
        )
      )
  })
}
