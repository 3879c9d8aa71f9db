import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type * as t from 'io-ts'
import type { Network } from '../../native'
import { type Failure, type Outcome, bug, deviceFailure } from '../failure'
import { failureJson, toFailureJson } from '../failure/failure-json'

/** The processes that train together, as one of them sees them. */
export interface Ranks {
  /** From 0. */
  readonly rank: number
  readonly size: number
  readonly network: Network
  /**
   * What every rank gives, by rank, or the failure of the first that fails, on all of them. Every
   * rank calls it as often, in the same order.
   */
  readonly allGather: (given: E.Either<Failure, Uint8Array>) => Outcome<readonly Uint8Array[]>
  /**
   * Runs what all ranks take part in, such as updates, of which one is predicted to take so many
   * milliseconds by itself: a rank that keeps the others waiting for far longer is said to hang,
   * and all end. Inside of another they wait as much longer, for ever where Infinity; outside of
   * all they wait for ever.
   */
  readonly whileExpecting: (predictedMilliseconds: number) => <A>(outcome: Outcome<A>) => Outcome<A>
  /** Ends this rank's part with the process's exit status. */
  readonly leave: (status: number) => void
}

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** A value as bytes of JSON. */
export const encodeJson = (value: unknown): Uint8Array => encoder.encode(JSON.stringify(value))

/** A value of bytes of JSON. */
export const decodeJson = (bytes: Uint8Array): unknown => JSON.parse(decoder.decode(bytes))

/** A message: whether the rank fails, and what it gives or why it does. */
const encodeMessage = (given: E.Either<Failure, Uint8Array>): Uint8Array => {
  const body = E.isRight(given) ? given.right : encodeJson(toFailureJson(given.left))
  const message = new Uint8Array(1 + body.length)
  message[0] = E.isRight(given) ? 1 : 0
  message.set(body, 1)
  return message
}

/**
 * What a rank told, of bytes of JSON. All run the same build, so whatever is something else is a
 * bug.
 */
export const decodeJsonAs =
  <A>(codec: t.Decoder<unknown, A>) =>
  (bytes: Uint8Array): E.Either<Failure, A> =>
    pipe(
      codec.decode(decodeJson(bytes)),
      E.mapLeft(() => bug(`a rank told what is no ${codec.name}`))
    )

const decodeFailure = (body: Uint8Array): Failure => E.toUnion(decodeJsonAs(failureJson)(body))

/** The first failure of any; it names the rank, unless that is the first one. */
const decodeResult = (messages: readonly Uint8Array[]): E.Either<Failure, readonly Uint8Array[]> => {
  const bodies = messages.map((message) => message.subarray(1))
  const failures = messages.map((message, rank) => (message[0] === 1 ? undefined : decodeFailure(bodies[rank]!)))
  const first = failures.findIndex((failure) => failure !== undefined)
  if (first === -1) return E.right(bodies)
  const failure = failures[first]!
  return E.left({ ...failure, isShared: true, message: first === 0 ? failure.message : `rank ${first}: ${failure.message}` })
}

/** What reading and writing of files may take beside an update, in milliseconds. */
const besideUpdates = 60_000

/** How many times its prediction an update may take. */
const timesPrediction = 20

/**
 * Ranks over a network. `mostWait`: milliseconds that they wait for one another where they do not
 * wait for ever, in place of what is predicted; 0 for ever.
 */
export const createRanks = (network: Network, mostWait?: number): Ranks => {
  let areAgreed = false
  let expected: number | undefined
  const waitFor = (predicted: number): number => (predicted === Infinity ? 0 : Math.ceil(besideUpdates + timesPrediction * predicted))
  const expect = (predicted: number | undefined): void => {
    expected = predicted
    network.limitWaits(predicted === undefined ? 0 : (mostWait ?? waitFor(predicted)))
  }
  return {
    rank: network.rank,
    size: network.size,
    network,
    allGather: (given) =>
      pipe(
        network.gather(encodeMessage(given)),
        TE.mapLeft(deviceFailure),
        TE.chainEitherK((messages) => {
          const result = decodeResult(messages)
          areAgreed = E.isLeft(result)
          // What a rank fails with itself says more than messages do.
          return E.isLeft(result) && E.isLeft(given) ? E.left({ ...given.left, ...result.left }) : result
        })
      ),
    whileExpecting: (predicted) => (outcome) => () => {
      const before = expected
      expect((before ?? 0) + predicted)
      return outcome().finally(() => expect(before))
    },
    // Where all fail alike, each ends by itself, and none is ended before it has said why.
    leave: (status) => network.leave(areAgreed ? 0 : status)
  }
}

/** Goes on where no rank failed so far, and fails on all ranks where one did. */
export const agreeAfter =
  ({ allGather }: Ranks) =>
  <A>(outcome: Outcome<A>): Outcome<A> =>
  async () => {
    const own = await outcome()
    const gathered = await allGather(E.map(() => new Uint8Array(0))(own))()
    return E.isLeft(gathered) ? gathered : own
  }

/**
 * A failure that all ranks have found by themselves, from the same numbers: each ends once all know
 * of it.
 */
export const failOnAllRanks = (ranks: Ranks | undefined, failure: Failure): Outcome<never> =>
  ranks === undefined
    ? TE.left(failure)
    : pipe(
        ranks.allGather(E.left(failure)),
        TE.chain(() => TE.left(failure))
      )

/**
 * Numbers of every rank, by rank, to the bit; those of the only process where there are no ranks.
 */
export const allGatherNumbers = (
  ranks: Ranks | undefined,
  given: E.Either<Failure, readonly number[]>
): Promise<E.Either<Failure, readonly (readonly number[])[]>> => {
  if (ranks === undefined) return Promise.resolve(E.map((numbers: readonly number[]) => [numbers])(given))
  return pipe(
    ranks.allGather(E.map((numbers: readonly number[]) => new Uint8Array(Float64Array.from(numbers).buffer))(given)),
    TE.map((all) => all.map((bytes) => [...new Float64Array(bytes.slice().buffer)]))
  )()
}

/**
 * Values of every rank, by rank, as JSON keeps them and the codec reads them; that of the only
 * process where there are no ranks.
 */
export const allGatherJson = <A>(
  ranks: Ranks | undefined,
  codec: t.Decoder<unknown, A>,
  given: E.Either<Failure, A>
): Promise<E.Either<Failure, readonly A[]>> => {
  if (ranks === undefined) return Promise.resolve(E.map((value: A) => [value])(given))
  return pipe(ranks.allGather(E.map(encodeJson)(given)), TE.chainEitherK(E.traverseArray(decodeJsonAs(codec))))()
}
