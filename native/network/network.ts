import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import type * as TE from 'fp-ts/TaskEither'
import * as t from 'io-ts'
import { loadAddon } from '../addon/addon'
import { bytesCodec, call, handleCodec } from '../addon/codecs'
import { type DeviceError, decodeAnswer, decodePromised } from '../addon/error'

/** What a session takes of a network. */
export interface NetworkHandle {
  readonly network: unique symbol
}

/** The processes that train together, as one of them sees them: ranks, counted from 0. */
export interface Network {
  readonly handle: NetworkHandle
  readonly rank: number
  readonly size: number
  /** What every rank gives, by rank. Every rank calls it as often, in the same order. */
  readonly gather: (bytes: Uint8Array) => TE.TaskEither<DeviceError, readonly Uint8Array[]>
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
  t.type({ handle: handleCodec<NetworkHandle>('a network'), rank: t.number, size: t.number, gather: call, limitWaits: call, leave: call }),
  'network'
)
const networkAnswer = decodeAnswer(nativeNetwork)
const networksAnswer = decodeAnswer(t.readonlyArray(nativeNetwork, 'networks'))

const gatherAnswer = decodePromised(t.readonlyArray(bytesCodec('bytes'), 'bytes of all ranks'))

const toNetwork = ({ handle, rank, size, gather, limitWaits, leave }: t.TypeOf<typeof nativeNetwork>): Network => ({
  handle,
  rank,
  size,
  gather: (own) => () => gatherAnswer(gather(own)),
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
