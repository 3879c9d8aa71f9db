import { elementCount } from '../../staging/graph/extents'
import type { TrainReport } from '../commands/train'
import { table } from '../text/table'

type StartingWeights = NonNullable<TrainReport['weights']>
type Tensors = StartingWeights['loaded']

/** Number of modules that are named in a row. */
const shown = 8

/** The shortest beginnings of the names, in whole dotted parts, that no name among `others` has. */
const listModules = (names: readonly string[], others: readonly string[]): readonly string[] => {
  const taken = new Set(others.flatMap((name) => name.split('.').map((_, index, parts) => parts.slice(0, index + 1).join('.'))))
  const moduleOf = (name: string): string => {
    const parts = name.split('.')
    const length = parts.findIndex((_, index) => !taken.has(parts.slice(0, index + 1).join('.')))
    return length === -1 ? name : parts.slice(0, length + 1).join('.')
  }
  return [...new Set(names.map(moduleOf))]
}

const listText = (names: readonly string[]): string =>
  names.length > shown ? `${names.slice(0, shown).join(', ')} and ${names.length - shown} more` : names.join(', ')

const values = (tensors: Tensors): number => tensors.reduce((sum, { shape }) => sum + elementCount(shape), 0)

/** A table of what a training starts from: tensors that were read, drawn anew, and not read. */
export const weightsText = ({ path, loaded, drawn, leftOver }: StartingWeights): string => {
  const rows: readonly (readonly [string, Tensors, Tensors])[] = [
    ['read', loaded, [...drawn, ...leftOver]],
    ['drawn anew', drawn, loaded],
    ['left over in the file', leftOver, loaded]
  ]
  return table(
    [`weights of ${path}`, 'tensors', 'numbers', 'of'],
    rows
      .filter(([, tensors]) => tensors.length > 0)
      .map(([what, tensors, others]) => [
        what,
        `${tensors.length}`,
        `${values(tensors)}`,
        listText(
          listModules(
            tensors.map(({ name }) => name),
            others.map(({ name }) => name)
          )
        )
      ])
  )
}
