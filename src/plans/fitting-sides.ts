import * as E from 'fp-ts/Either'
import type { Objective, Source } from '../../staging'
import { type Failure, clause } from '../failure'
import { type SetupGraph, buildSetupGraph, plannedInput } from './plan-network'
import type { Setup } from './setup'

/** Poolings that halve sides so often are as many as networks have. */
const strides: readonly number[] = [2, 4, 8, 16, 32, 64, 128]

/** A failure of branches that differ, with the largest sides below the input's that all divide. */
const nameFittingSides =
  (setup: Setup, objective: Objective, source: Source) =>
  (failure: Failure): Failure => {
    const [batch, channels, height, width] = setup.input ?? plannedInput(setup) ?? []
    if (height === undefined || width === undefined || !failure.message.includes('the branches differ')) return failure
    const fitting = strides
      .map((stride) => [height - (height % stride), width - (width % stride)] as const)
      .find(
        ([rows, columns]) =>
          rows * columns > 0 && E.isRight(buildSetupGraph({ ...setup, input: [batch!, channels!, rows, columns] }, objective, source))
      )
    return fitting === undefined
      ? failure
      : { ...failure, message: `${clause(failure)}; take sides that its poolings divide, such as ${fitting.join('x')}` }
  }

/** As `buildSetupGraph`, and names sides that a network's poolings divide, where they do not. */
export const buildFittingGraph = (setup: Setup, objective: Objective, source: Source): E.Either<Failure, SetupGraph> =>
  E.mapLeft(nameFittingSides(setup, objective, source))(buildSetupGraph(setup, objective, source))
