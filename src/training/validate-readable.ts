import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { Failure, Outcome } from '../failure'
import type { Example } from '../images/dataset'
import { centreBatch } from './batches'
import { readThrough } from './read-through'
import type { Quality } from '../metrics/quality'
import { type ValidationRun, validate } from './validation'

/**
 * Validates the middles of images, each time that the answer is run; where `onSkipped` is given,
 * those that cannot be read are left out, from then on, and it is told of them. Fails where none is
 * left.
 */
export const validateReadable = (
  run: ValidationRun,
  onSkipped: ((failure: Failure, image: string) => void) | undefined
): Outcome<Quality> => {
  if (onSkipped === undefined) return validate(run)
  const { dataset, crop, loader, classes } = run
  const read = (example: Example): Outcome<unknown> =>
    pipe(
      centreBatch([example], crop, loader, classes),
      TE.chain(({ images }) => TE.traverseSeqArray(readThrough(crop))(images))
    )
  /** The images that cannot be read, of which each is told. */
  const findUnreadable = async (examples: readonly Example[]): Promise<readonly Example[]> => {
    const unreadable: Example[] = []
    for (const example of examples) {
      const loaded = await read(example)()
      if (E.isRight(loaded) || loaded.left.code !== 'input') continue
      unreadable.push(example)
      onSkipped(loaded.left, example.path)
    }
    return unreadable
  }
  let readable = dataset.examples
  const validateThem = (): ReturnType<Outcome<Quality>> => validate({ ...run, dataset: { ...dataset, examples: readable } })()
  return async () => {
    const validated = await validateThem()
    if (E.isRight(validated) || validated.left.code !== 'input') return validated
    const unreadable = await findUnreadable(readable)
    const left = readable.filter((example) => !unreadable.includes(example))
    if (unreadable.length === 0 || left.length === 0) return validated
    readable = left
    return validateThem()
  }
}
