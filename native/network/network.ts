import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import * as TE from 'fp-ts/TaskEither'
import * as t from 'io-ts'
import { loadAddon } from '../addon/addon'
import { bytesCodec, call, float64Array, handleCodec } from '../addon/codecs'
import { type DeviceError, decodeAnswer, decodePromised } from '../addon/error'

/** The addon's handle of a network, which a session takes. */
export interface NetworkHandle {
  readonly network: unique symbol
}

/** Exchanges of ranks that are timed. */
export interface TimedExchanges {
  /** Bytes that each rank sends, and receives. */
  readonly bytes: number
  /** From a rank to the one that it sends to, 1 to one less than there are ranks. */
  readonly distance: number
  readonly times: number
}

/** The processes that train together, as one of them sees them: ranks, counted from 0. */
export interface Network {
  readonly handle: NetworkHandle
  readonly rank: number
  readonly size: number
  /** What every rank gives, by rank. Every rank calls it as often, in the same order. */
  readonly gather: (bytes: Uint8Array) => TE.TaskEither<DeviceError, readonly Uint8Array[]>
  /**
   * Nanoseconds of each of so many exchanges, one after the other: every rank sends so many bytes
   * to the one that is `distance` further, counted round, and receives as many. Every rank calls it
   * alike; at most 64 MiB, and 10,000 times.
   */
  readonly timeExchanges: (exchanges: TimedExchanges) => TE.TaskEither<DeviceError, readonly number[]>
  /**
   * The most milliseconds that this rank waits for others from now on: then it fails, and says
   * which of them hang. 0: for ever, as at first.
   */
  readonly limitWaits: (milliseconds: number) => void
  /**
   * Ends this rank's part, once: with 0 it waits for the others; with any other exit status all
   * ranks end.
   */
  readonly leave: (status: number) => void
}

/** Whose library of MPI goes with the launcher: Open MPI's, or MPICH's and its kin's. */
export type MpiKind = 'open-mpi' | 'mpich'

const nativeNetwork = t.readonly(
  t.type({
    handle: handleCodec<NetworkHandle>('a network'),
    rank: t.number,
    size: t.number,
    gather: call,
    timeExchanges: call,
    limitWaits: call,
    leave: call
  }),
  'network'
)
const networkAnswer = decodeAnswer(nativeNetwork)
const networksAnswer = decodeAnswer(t.readonlyArray(nativeNetwork, 'networks'))

const gatherAnswer = decodePromised(t.readonlyArray(bytesCodec('bytes'), 'bytes of all ranks'))

const timesAnswer = decodePromised(float64Array)

const toNetwork = ({ handle, rank, size, gather, timeExchanges, limitWaits, leave }: t.TypeOf<typeof nativeNetwork>): Network => ({
  handle,
  rank,
  size,
  gather: (own) => () => gatherAnswer(gather(own)),
  timeExchanges: (exchanges) =>
    pipe(
      () => timesAnswer(timeExchanges(exchanges)),
      TE.map((nanoseconds) => [...nanoseconds])
    ),
  limitWaits: (milliseconds) => void limitWaits(milliseconds),
  leave: (status) => void leave(status)
})

/**
 * Opens MPI's library, at a path or, where that is empty, where the loader looks, and waits for all
 * ranks that the launcher started. Once a process.
 */
export const openNetwork = (options: { readonly kind: MpiKind; readonly path: string }): E.Either<DeviceError, Network> =>
  pipe(
    loadAddon(),
    E.chain((addon) => networkAnswer(addon.openNetwork(options))),
    E.map(toNetwork)
  )

/** Ranks of this process, 1 to 64: what tests train with. */
export const localNetworks = (size: number): E.Either<DeviceError, readonly Network[]> =>
  pipe(
    loadAddon(),
    E.chain((addon) => networksAnswer(addon.localNetworks(size))),
    E.map((networks) => networks.map(toNetwork))
  )
