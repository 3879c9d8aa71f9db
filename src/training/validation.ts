import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { Image } from '../../native'
import type { Section } from '../../staging/program'
import type { Dataset } from '../dataset'
import { exchangeFor } from '../exchange'
import { type Failure, type Outcome } from '../failure'
import type { Extent2, Picture } from '../images'
import { type RunningNetwork, stoppable } from '../session'
import { centreCrop, inBatches } from './batches'
import { type Quality, qualityOf } from './scores'

export interface ValidationRun {
  readonly network: RunningNetwork
  /** The Program's `evaluate`. */
  readonly section: Section
  readonly dataset: Dataset
  readonly batch: number
  readonly classes: number
  readonly crop: Extent2
  readonly picture: (path: string) => Outcome<Picture>
  readonly signal: AbortSignal | undefined
}

/** Evaluates the middle of every image, without dropout; the next batch is decoded while the current one runs. */
export const validate = ({ network, section, dataset, batch, classes, crop, picture, signal }: ValidationRun): Outcome<Quality> => {
  const { examples } = dataset
  const exchange = exchangeFor(section)
  const scores = exchange.view('scores')
  const batches = inBatches(examples, batch)
  const load = (index: number): Promise<E.Either<Failure, readonly Image[]>> =>
    pipe(
      batches[index] ?? [],
      TE.traverseSeqArray(({ path }) => TE.map(centreCrop(crop))(picture(path)))
    )()
  return async () => {
    const values = new Float64Array(examples.length * classes)
    let next = load(0)
    for (let index = 0; index < batches.length; index += 1) {
      const images = await next
      if (E.isLeft(images)) return images
      const running = stoppable(signal, network, network.evaluate(exchange, images.right))()
      next = load(index + 1)
      const ran = await running
      if (E.isLeft(ran)) return ran
      const rows = Math.min(batch, examples.length - index * batch)
      values.set(scores.subarray(0, rows * classes), index * batch * classes)
    }
    return E.right(qualityOf({ values, classes, labels: examples.map(({ label }) => label) }))
  }
}
