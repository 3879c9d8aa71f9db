import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import { type Graph, getIgnoredLabel } from '../../../staging'
import { type Failure, inputFailure } from '../../failure'
import { ignoredLabel } from '../../datasets/class-list'
import type { Dataset, Example } from '../../datasets/dataset'
import { isMask } from '../../datasets/labels'
import type { Split } from '../validation/validation-split'

/** Counts a label as 255, which does not count anywhere, and refuses a mask that holds both. */
const ignoreIn =
  (model: string, ignored: number) =>
  (example: Example): E.Either<Failure, Example> => {
    const { label, origin } = example
    if (!isMask(label)) return E.right(example)
    const counts = label.counts.map((count, value) =>
      value === ignored ? 0 : value === ignoredLabel ? (label.counts[ignored] ?? 0) : count
    )
    return label.counts[ignoredLabel]! === 0
      ? E.right({ ...example, label: { ...label, counts } })
      : E.left(
          inputFailure(
            `${origin}: pixels of the mask ${label.path} are ${ignoredLabel}, but the loss of ${model} ignores ${ignored} in its place: make them ${ignored}, or leave out ignore`
          )
        )
  }

/** The data as the loss of a network counts them: it may ignore another label than 255. */
export const ignoreLabel = ({ model, nodes }: Graph, { training, validation }: Split): E.Either<Failure, Split> => {
  const ignored = getIgnoredLabel(nodes.at(-1)!) ?? ignoredLabel
  if (ignored === ignoredLabel) return E.right({ training, validation })
  const ignore = (dataset: Dataset): E.Either<Failure, Dataset> =>
    pipe(
      dataset.examples,
      E.traverseArray(ignoreIn(model, ignored)),
      E.map((examples) => ({ ...dataset, examples }))
    )
  return pipe(
    E.Do,
    E.bind('training', () => ignore(training)),
    E.bind('validation', () => (validation === undefined ? E.right(undefined) : ignore(validation)))
  )
}
