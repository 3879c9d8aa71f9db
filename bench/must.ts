import * as E from 'fp-ts/Either'

/** The value of what must succeed; throws the failure's sentence. */
export const must = <A>(result: E.Either<{ readonly message: string }, A>): A => {
  if (E.isLeft(result)) throw new Error(result.left.message)
  return result.right
}
