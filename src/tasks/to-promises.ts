import * as E from 'fp-ts/Either'
import type { Failure, Outcome } from '../failure'

/**
 * A failure as an Error, for promises that are rejected with it: it has all that the failure has.
 */
export class FailureError extends Error implements Failure {
  override readonly name = 'FailureError'
  declare readonly code: Failure['code']
  declare readonly smallestFeasibleBudgetBytes?: number
  declare readonly report?: object
  declare readonly thrown?: unknown

  constructor(failure: Failure) {
    super(failure.message)
    Object.assign(this, failure)
  }
}

type OutcomeFunction = (...given: never) => Outcome<unknown>

/** The functions among `L` that answer with a TaskEither, each with a promise in its place. */
type PromiseLibrary<L> = {
  readonly [N in keyof L as L[N] extends OutcomeFunction ? N : never]: L[N] extends (...given: infer Given) => Outcome<infer A>
    ? (...given: Given) => Promise<A>
    : never
}

const asPromise =
  (outcomeFunction: OutcomeFunction) =>
  async (...given: readonly unknown[]): Promise<unknown> => {
    // What it takes, PromiseLibrary says.
    const result = await outcomeFunction(...(given as never))()
    if (E.isLeft(result)) throw new FailureError(result.left)
    return result.right
  }

/** A library whose functions give promises, which are rejected with a FailureError. */
export const toPromises = <const L extends object>(library: L): PromiseLibrary<L> =>
  Object.fromEntries(
    Object.entries(library).flatMap(([name, one]) => (typeof one === 'function' ? [[name, asPromise(one as OutcomeFunction)]] : []))
  ) as PromiseLibrary<L>
