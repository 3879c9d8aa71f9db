import * as E from 'fp-ts/Either'
import type { Failure, Outcome } from '../../src/failure'

/** The value of an outcome that must succeed. */
export const valueOf = async <A>(outcome: Outcome<A>): Promise<A> => {
  const result = await outcome()
  if (E.isLeft(result)) throw new Error(`unexpected failure: ${result.left.message}`)
  return result.right
}

/** The failure of an outcome that must fail. */
export const failureOf = async (outcome: Outcome<unknown>): Promise<Failure> => {
  const result = await outcome()
  if (E.isRight(result)) throw new Error('unexpected success')
  return result.left
}
