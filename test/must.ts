import * as E from 'fp-ts/Either'

/** The value of what must succeed. */
export const must = <A>(result: E.Either<string | { readonly message: string }, A>): A => {
  if (E.isLeft(result)) throw new Error(typeof result.left === 'string' ? result.left : result.left.message)
  return result.right
}
