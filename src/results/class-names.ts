import * as E from 'fp-ts/Either'
import { type Failure, inputFailure } from '../failure'

/** The names of classes, or their numbers; fails where there are more or fewer. */
export const resolveClassNames = (names: readonly string[] | undefined, classes: number): E.Either<Failure, readonly string[]> => {
  if (names === undefined) return E.right(Array.from({ length: classes }, (_, index) => `${index}`))
  return names.length === classes
    ? E.right(names)
    : E.left(inputFailure(`--class-names names ${names.length} classes, but the model has ${classes}`))
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
