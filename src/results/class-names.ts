import * as E from 'fp-ts/Either'
import { type Failure, inputFailure } from '../failure'

/** Names of classes, or values, as an option says, or else as a file of weights does. */
export interface ClassNames {
  readonly names: readonly string[]
  readonly from: 'option' | 'weights'
}

/** The names of classes, or their numbers; fails where there are more or fewer. */
export const resolveClassNames = (given: ClassNames | undefined, classes: number): E.Either<Failure, readonly string[]> => {
  if (given === undefined) return E.right(Array.from({ length: classes }, (_, index) => `${index}`))
  const { names, from } = given
  const count = names.length
  if (count === classes) return E.right(names)
  return E.left(
    inputFailure(
      from === 'option'
        ? `--class-names names ${count} classes, but the model has ${classes}`
        : `the weights are of ${count} classes, but the model has ${classes}: give the model that they are of (a built-in one with --classes ${count})`
    )
  )
}

/** The index of a class by its name, or else by its number; `option` says who asks for it. */
export const findClassIndex = (option: string, wanted: string, names: readonly string[]): E.Either<Failure, number> => {
  const named = names.indexOf(wanted)
  const numbered = /^\d+$/.test(wanted) ? Number(wanted) : -1
  if (named !== -1) return E.right(named)
  return numbered >= 0 && numbered < names.length
    ? E.right(numbered)
    : E.left(inputFailure(`${option}: there is no class ${wanted}; give one of ${names.join(', ')}, or its number`))
}
