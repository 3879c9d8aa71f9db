import * as E from 'fp-ts/Either'
import type { Failure, Outcome } from '../failure'
import { unlessAborted } from './unless-aborted'

/**
 * Number of files that are opened at once: more than there are threads to read them, so that none
 * of these waits.
 */
const atOnce = 16

/**
 * Runs `use` for each item, `lanes` at a time; results are in the items' order. Aborting the signal
 * is answered at once.
 */
export const inParallel =
  <A, B>(items: readonly A[], use: (item: A, index: number) => Promise<B>, signal?: AbortSignal, lanes = atOnce): Outcome<readonly B[]> =>
  () => {
    const results = new Array<B>(items.length)
    let next = 0
    const lane = async (): Promise<void> => {
      while (next < items.length && !signal?.aborted) {
        const index = next
        next += 1
        results[index] = await use(items[index]!, index)
      }
    }
    const all = Promise.all(Array.from({ length: Math.min(lanes, items.length) }, lane))
    return unlessAborted<readonly B[]>(
      signal,
      all.then(() => E.right<Failure, readonly B[]>(results))
    )
  }
