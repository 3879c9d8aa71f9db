import * as E from 'fp-ts/Either'
import * as t from 'io-ts'
import type { Failure } from '../../failure'
import { failureJson, toFailureJson } from '../../failure/failure-json'
import { encodeJson } from '../../ranks/ranks'

/** A failure that a rank tells the others, which go on. */
export const toldFailure = t.type({ failure: failureJson })

/** What a rank found, by a name, or its failure, for all others. */
export const encodeTold = <A>(name: string, found: E.Either<Failure, A>): Uint8Array =>
  encodeJson(E.isRight(found) ? { [name]: found.right } : { failure: toFailureJson(found.left) })
