import * as E from 'fp-ts/Either'
import * as t from 'io-ts'
import type { Failure } from '../failure'
import { encodeJson } from '../ranks/ranks'

/** A failure of ours, not of who trains: all ranks run the same build. */
export const bug = (message: string): Failure => ({ code: 'bug', message })

const failures = t.intersection([
  t.type({
    code: t.keyof({ input: null, budget: null, loss: null, missing: null, device: null, interrupted: null, bug: null }),
    message: t.string
  }),
  t.partial({ smallestFeasibleBudgetBytes: t.number })
])

/** A failure that a rank tells the others, which go on. */
export const toldFailure = t.type({ failure: failures })

/** What a rank found, by a name, or its failure, for all others. */
export const encodeTold = <A>(name: string, found: E.Either<Failure, A>): Uint8Array => {
  if (E.isRight(found)) return encodeJson({ [name]: found.right })
  const { code, message, smallestFeasibleBudgetBytes } = found.left
  return encodeJson({ failure: { code, message, ...(smallestFeasibleBudgetBytes !== undefined && { smallestFeasibleBudgetBytes }) } })
}
