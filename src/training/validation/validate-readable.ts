import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type Failure, type Outcome, inputFailure } from '../../failure'
import type { Example } from '../../datasets/dataset'
import { allGatherJson, failOnAllRanks } from '../../ranks/ranks'
import { centreBatch } from '../batches/batches'
import { readThrough } from '../batches/read-through'
import type { Quality } from '../../metrics/quality'
import { type Unread, unreadCodec } from './unread-images'
import { type ValidationRun, validate } from './validation'

/**
 * Validates the middles of images, each time that the answer is run; where `onSkipped` is given,
 * those that cannot be read are left out, from then on, and it is told of them. Of ranks all leave
 * out what one of them cannot read. Fails where none is left.
 */
export const validateReadable = (
  run: ValidationRun,
  onSkipped: ((failure: Failure, image: string) => void) | undefined
): Outcome<Quality> => {
  if (onSkipped === undefined) return validate(run)
  const { dataset, crop, loader, classes, ranks } = run
  const read = (example: Example): Outcome<unknown> =>
    pipe(
      centreBatch([example], crop, loader, classes),
      TE.chain(({ images }) => TE.traverseSeqArray(readThrough(crop))(images))
    )
  const findUnread = async (examples: readonly Example[]): Promise<readonly Unread[]> => {
    const unread: Unread[] = []
    for (const [place, example] of examples.entries()) {
      const loaded = await read(example)()
      if (E.isLeft(loaded) && loaded.left.code === 'input') unread.push([place, loaded.left.message])
    }
    return unread
  }
  let readable = dataset.examples
  const validateThem = (): ReturnType<Outcome<Quality>> => validate({ ...run, dataset: { ...dataset, examples: readable } })()
  return async () => {
    const validated = await validateThem()
    if (E.isRight(validated) || validated.left.code !== 'input') return validated
    const gathered = await allGatherJson(ranks, unreadCodec, E.right(await findUnread(readable)))
    if (E.isLeft(gathered)) return gathered
    const unread = new Map(gathered.right.flat())
    for (const [place, message] of unread) onSkipped(inputFailure(message), readable[place]!.path)
    const left = readable.filter((_, place) => !unread.has(place))
    if (unread.size === 0 || left.length === 0) return failOnAllRanks(ranks, validated.left)()
    readable = left
    return validateThem()
  }
}
