import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { DiskBuffer } from '../../native'
import type { Failure, Outcome } from '../failure'
import type { ImageSource } from '../images/image-source'
import { diskBuffer } from '../images/mapped-image-file'
import type { Extent2 } from '../images/resolution'
import type { Reading } from '../images/samples'
import type { Planned } from '../plans/plan-network'
import { type NetworkOptions, type RunningNetwork, withAbort, withNetwork } from '../running/running-network'
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

/** Where a run over images has stopped: behind the last one, or at one that failed. */
type Stop = { readonly at: number; readonly failure?: Failure }

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

const runUntilFailure =
  <S extends Opened>(run: ImageRun<S>, network: RunningNetwork, first: number): Outcome<Stop> =>
  async () => {
    for (let at = first; at < run.images.length; at += 1) {
      const predicted = await predictImage(run, network, run.images[at]!)()
      if (E.isLeft(predicted)) return E.right({ at, failure: predicted.left })
      const taken = await run.onPredicted(predicted.right)()
      if (E.isLeft(taken)) return taken
    }
    return E.right({ at: run.images.length })
  }

/** Bytes of classes and scores that are in memory whole. */
const mostInMemory = 2 ** 24

/** A place on disk for what is predicted of large images; a GPU hands it out from memory. */
const stepBufferOf = <S>({ planned, device }: ImageRun<S>): Outcome<DiskBuffer | undefined> => {
  const bytes = planned.staged.program.step.exchangeBytes
  return device === 'cuda' || bytes <= mostInMemory ? TE.right(undefined) : diskBuffer('what is predicted', bytes)
}

/**
 * Predicts images of one extent, one after the other, on one network; after a failure that is gone
 * over, on a new one.
 */
export const runImages = <S extends Opened>(run: ImageRun<S>, first = 0): Outcome<void> =>
  first >= run.images.length
    ? TE.right(undefined)
    : pipe(
        stepBufferOf(run),
        TE.chain((stepBuffer) =>
          withNetwork({ planned: run.planned, device: run.device, weights: run.weights, seed: 0, stepBuffer }, (network) =>
            runUntilFailure(run, network, first)
          )
        ),
        TE.chain(({ at, failure }) =>
          failure === undefined
            ? TE.right(undefined)
            : pipe(
                run.onFailure(run.images[at]!, failure),
                TE.chain(() => runImages(run, at + 1))
              )
        )
      )
