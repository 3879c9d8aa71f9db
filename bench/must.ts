import * as E from 'fp-ts/Either'

/** The value of what must succeed; ends the process with the failure's sentence and status 1. */
export const must = <A>(result: E.Either<{ readonly message: string }, A>): A => {
  if (E.isRight(result)) return result.right
  process.stderr.write(`Error: ${result.left.message}\n`)
  process.exit(1)
}
