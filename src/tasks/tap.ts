import * as TE from 'fp-ts/TaskEither'

/** Lets `use` see a result on its way, which stays what it is. */
export const tap = <A>(use: (value: A) => void): (<L>(running: TE.TaskEither<L, A>) => TE.TaskEither<L, A>) =>
  TE.map((value) => {
    use(value)
    return value
  })
