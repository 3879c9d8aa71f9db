import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import type * as TE from 'fp-ts/TaskEither'
import * as t from 'io-ts'
import { call, loadAddon } from '../addon/addon'
import { type DeviceError, decodeAnswer } from '../addon/error'
import { handleCodec } from '../addon/handle'

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
   * Ends this rank's part, once: with 0 it waits for the others; with any other exit status all
   * ranks end.
   */
  readonly leave: (status: number) => void
}

/** Whose library of MPI goes with the launcher: Open MPI's, or MPICH's and its kin's. */
export type MpiKind = 'open-mpi' | 'mpich'

const nativeNetwork = t.readonly(
  t.type({ handle: handleCodec<NetworkHandle>('a network'), rank: t.number, size: t.number, gather: call, leave: call }),
  'network'
)
const networkAnswer = decodeAnswer(nativeNetwork)
const networksAnswer = decodeAnswer(t.readonlyArray(nativeNetwork, 'networks'))

const bytes = new t.Type<Uint8Array>(
  'bytes',
  (value): value is Uint8Array => value instanceof Uint8Array,
  (value, context) => (value instanceof Uint8Array ? t.success(value) : t.failure(value, context)),
  t.identity
)
const gatherAnswer = decodeAnswer(t.readonlyArray(bytes, 'bytes of all ranks'))
const promiseAnswer = decodeAnswer(
  new t.Type<Promise<unknown>>(
    'a promise',
    (value): value is Promise<unknown> => value instanceof Promise,
    (value, context) => (value instanceof Promise ? t.success(value) : t.failure(value, context)),
    t.identity
  )
)

const toNetwork = ({ handle, rank, size, gather, leave }: t.TypeOf<typeof nativeNetwork>): Network => ({
  handle,
  rank,
  size,
  gather: (own) => async () => {
    const asked = promiseAnswer(gather(own))
    return E.isLeft(asked) ? asked : gatherAnswer(await asked.right)
  },
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
