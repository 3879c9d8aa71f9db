import type * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { Failure, Outcome } from '../failure'
import type { ImageSource } from '../images/image-source'
import type { Extent2 } from '../images/resolution'
import type { Reading } from '../images/samples'
import type { Planned } from '../plans/plan-network'
import { runInTurn } from '../running/run-in-turn'
import { type NetworkOptions, type RunningNetwork, withAbort } from '../running/running-network'
import { centreCrop } from '../training/batches'
import { type Input, readInput } from './input'
import type { Prediction } from './prediction'
import { withReadAhead } from './read-ahead'

/** An image whose prediction is there, on a network that still holds it. */
export interface PredictedImage<S> {
  readonly image: S
  readonly input: Input
  readonly prediction: Prediction
  readonly milliseconds: number
  /** Tiles that were not computed, since the one before served. */
  readonly repeatedTiles: number
  readonly network: RunningNetwork
}

export interface ImageRun<S> extends Pick<NetworkOptions, 'planned' | 'device' | 'weights'> {
  readonly images: readonly S[]
  readonly reading: Reading
  /** What a step has left, once it is known to be finite. */
  readonly predictionOf: (extent: Extent2, planned: Planned, network: RunningNetwork) => E.Either<Failure, Prediction>
  readonly signal?: AbortSignal | undefined
  /** Takes what it needs before the next image. */
  readonly onPredicted: (predicted: PredictedImage<S>) => Outcome<unknown>
  /** After an image that cannot be read or predicted: a failure ends the run. */
  readonly onFailure: (image: S, failure: Failure) => Outcome<unknown>
}

/** What has been opened, so that its extent is known. */
export interface Opened {
  readonly source: ImageSource
}

const predictImage = <S extends Opened>(
  { planned, reading, signal, predictionOf }: ImageRun<S>,
  network: RunningNetwork,
  image: S
): Outcome<PredictedImage<S>> =>
  pipe(
    readInput(image.source, reading),
    TE.bindTo('input'),
    TE.let('before', () => network.repeatedTiles()),
    TE.bind('milliseconds', ({ input }) =>
      withAbort(
        signal,
        network,
        withReadAhead(input, planned.staged.program, (ahead) =>
          network.step({ learningRate: 0, step: 0, seed: 0 }, [{ ...ahead, ...centreCrop(input)(input) }])
        )
      )
    ),
    TE.bind('prediction', ({ input }) => TE.fromEither(predictionOf(input, planned, network))),
    TE.map(({ before, ...rest }) => ({ image, network, ...rest, repeatedTiles: network.repeatedTiles() - before }))
  )

/** Predicts images of one extent, one after the other. */
export const runImages = <S extends Opened>(run: ImageRun<S>): Outcome<void> =>
  runInTurn({
    ...run,
    what: 'what is predicted',
    run: (network, image) =>
      pipe(
        predictImage(run, network, image),
        TE.foldW(
          (failure) => TE.right<Failure, Failure | undefined>(failure),
          (predicted) => TE.map(() => undefined)(run.onPredicted(predicted))
        )
      )
  })
