import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { DiskBuffer } from '../../native'
import type { Failure, Outcome } from '../failure'
import { diskBuffer } from '../images/mapped-image-file'
import { type NetworkOptions, type RunningNetwork, withNetwork } from './running-network'

/** Images that one plan serves. */
export interface InTurn<S> extends Pick<NetworkOptions, 'planned' | 'device' | 'weights' | 'state'> {
  readonly images: readonly S[]
  /** In words, what steps hand out. */
  readonly what: string
  /** Runs an image; answers with why it failed. A failure of the answer itself ends the run. */
  readonly run: (network: RunningNetwork, image: S) => Outcome<Failure | undefined>
  /** After an image that failed: a failure ends the run. */
  readonly onFailure: (image: S, failure: Failure) => Outcome<unknown>
}

/** Where a run over images has stopped: behind the last one, or at one that failed. */
type Stop = { readonly at: number; readonly failure?: Failure }

const runUntilFailure =
  <S>({ images, run }: InTurn<S>, network: RunningNetwork, first: number): Outcome<Stop> =>
  async () => {
    for (let at = first; at < images.length; at += 1) {
      const ran = await run(network, images[at]!)()
      if (E.isLeft(ran)) return ran
      if (ran.right !== undefined) return E.right({ at, failure: ran.right })
    }
    return E.right({ at: images.length })
  }

/** Bytes of what a step hands out that are in memory whole. */
const mostInMemory = 2 ** 24

/** A place on disk for so many bytes of what is handed out; absent of few, which memory holds. */
export const outputBuffer = (what: string, bytes: number): Outcome<DiskBuffer | undefined> =>
  bytes <= mostInMemory ? TE.right(undefined) : diskBuffer(what, bytes)

/** That of what steps hand out of large images; a GPU hands it out from memory. */
const stepBufferOf = <S>({ planned, device, what }: InTurn<S>): Outcome<DiskBuffer | undefined> =>
  device === 'cuda' ? TE.right(undefined) : outputBuffer(what, planned.staged.program.step.stepIoBytes)

/**
 * Runs images one after the other, on one network; after a failure that is gone over, on a new one.
 */
export const runInTurn = <S>(inTurn: InTurn<S>, first = 0): Outcome<void> => {
  const { planned, device, weights, state, images, onFailure } = inTurn
  if (first >= images.length) return TE.right(undefined)
  return pipe(
    stepBufferOf(inTurn),
    TE.chain((stepBuffer) =>
      withNetwork({ planned, device, weights, state, seed: 0, stepBuffer }, (network) => runUntilFailure(inTurn, network, first))
    ),
    TE.chain(({ at, failure }) =>
      failure === undefined
        ? TE.right(undefined)
        : pipe(
            onFailure(images[at]!, failure),
            TE.chain(() => runInTurn(inTurn, at + 1))
          )
    )
  )
}
