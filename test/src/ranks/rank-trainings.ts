import * as E from 'fp-ts/Either'
import * as assert from 'uvu/assert'
import { batchNorm, conv2d, globalAvgPool, linear, maxPool2d, model, relu } from '../../../dsl'
import { localNetworks } from '../../../native'
import type { TrainReport } from '../../../src'
import { trainOn } from '../../../src/commands/train'
import type { Failure } from '../../../src/failure'
import type { TrainOptions } from '../../../src/option-tables/train-options'
import { createRanks } from '../../../src/ranks/ranks'
import { must } from '../../must'

const features = [conv2d({ out: 4, k: 3, p: 1 }), batchNorm(), relu, maxPool2d({ k: 2 }), conv2d({ out: 8, k: 3, p: 1 }), batchNorm(), relu]
/** Normalises batches of two images of 32 pixels a side. */
export const classifier = model({
  name: 'classifier',
  input: [2, 3, 32, 32],
  layers: [...features, globalAvgPool, linear({ out: 2 })]
})

/** A few steps of the classifier on images. */
export const classifierOptions =
  (data: string) =>
  (more: Partial<TrainOptions> = {}): TrainOptions => ({
    model: classifier,
    data,
    device: 'cpu',
    threads: 1,
    accumulate: 4,
    steps: 3,
    seed: 5,
    ...more
  })

/** The answers of so many ranks of this process; `of` gives the options of each. */
export const trainOnRanks = async (size: number, of: (rank: number) => TrainOptions): Promise<readonly E.Either<Failure, TrainReport>[]> =>
  Promise.all(
    must(localNetworks(size)).map(async (network) => {
      const ranks = createRanks(network)
      const ended = await trainOn(ranks)(of(network.rank))()
      // What the process's exit does under a launcher.
      ranks.leave(E.isLeft(ended) ? 1 : 0)
      return ended
    })
  )

export const failuresOf = (ended: readonly E.Either<Failure, TrainReport>[]): readonly Failure[] =>
  ended.map((one) => {
    if (E.isRight(one)) throw new Error('unexpected success')
    return one.left
  })

/** Losses that differ by rounding alone. */
export const assertCloseLosses = (losses: readonly number[], expected: readonly number[]): void => {
  assert.is(losses.length, expected.length)
  losses.forEach((loss, step) =>
    assert.ok(Math.abs(loss - expected[step]!) <= 1e-12 * Math.abs(expected[step]!), `step ${step + 1}: ${loss} is not ${expected[step]}`)
  )
}
