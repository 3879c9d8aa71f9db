import { createHash } from 'node:crypto'
import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { PlanFile } from '../../dsl'
import { type Program, type Shard, checkObjective, decodePlanFile, toPlanFile, verifyRanks } from '../../staging'
import { type Failure, type Outcome, inputFailure } from '../failure'
import type { DecodedTrainOptions } from '../option-tables/train-options'
import { type Planned, type SetupGraph, planNetwork, stagingFailure } from '../plans/plan-network'
import { type Ranks, decodeJson, encodeJson } from '../ranks/ranks'
import { type PlanTraining, planAlone } from './prepare'
import { withTraining } from './training-objective'

/** The plan of one rank of those that share rows, under a budget. */
const planFor = (built: SetupGraph, shard: Shard, plan: PlanFile | undefined): E.Either<Failure, Planned> =>
  planNetwork(withTraining({ ...built, setup: { ...built.setup, ...(plan && { plan }) } }, { shard }))

/** A short hash of a Program, which is the same where the Program is. */
export const programHash = ({ kernels, buffers, ...program }: Program): string =>
  createHash('sha256')
    .update(JSON.stringify([kernels, buffers, program]))
    .digest('hex')
    .slice(0, 12)

/**
 * What the first rank tells the others: the plan, the Program of each rank by its hash, and the
 * most bytes that one of them takes.
 */
interface PlanOfRows {
  readonly file: PlanFile
  readonly hashes: readonly string[]
  readonly peakBytes: number
}

/** A rank that a plan does not fit, or that cannot run it, and why. */
interface Misfit {
  readonly rank: number
  readonly failure: Failure
}

/** The Programs that ranks get of a plan, by rank. */
const programsOf = (built: SetupGraph, count: number, file: PlanFile): E.Either<Misfit, readonly Program[]> =>
  E.traverseArray((rank: number) =>
    pipe(
      planFor(built, { count, index: rank }, { ...file, budget: null }),
      E.bimap(
        (failure): Misfit => ({ rank, failure }),
        ({ staged }) => staged.program
      )
    )
  )(Array.from({ length: count }, (_, rank) => rank))

const proveTogether = (programs: readonly Program[]): E.Either<Failure, void> =>
  pipe(
    verifyRanks(programs),
    E.mapLeft(({ message }): Failure => ({
      code: 'bug',
      message: `the Programs of ${programs.length} ranks do not go together: ${message}`
    }))
  )

/** Says that the plan of one rank does not fit another; of a given plan staging has said it. */
const misfitFailure = ({ setup, graph }: SetupGraph, count: number, index: number, { rank, failure }: Misfit): Failure =>
  failure.code !== 'budget' || setup.plan !== undefined
    ? failure
    : {
        code: 'budget',
        message:
          `${graph.model} on ${graph.input.join('x')} does not fit the budget on all of ${count} ranks: ` +
          `the plan of rank ${index} needs ${failure.smallestFeasibleBudgetBytes} bytes on rank ${rank}; raise --budget.`
      }

/**
 * Plans for one rank and proves that the plan is one for all; where it does not fit another rank,
 * plans for that one, unless it has been tried.
 */
const planForAll = (
  built: SetupGraph,
  count: number,
  options: DecodedTrainOptions,
  index: number,
  tried: readonly number[] = []
): Outcome<PlanOfRows> => {
  const ofRank = withTraining(built, { shard: { count, index } })
  return pipe(
    TE.fromEither(E.mapLeft(stagingFailure)(checkObjective(ofRank.graph, ofRank.objective))),
    TE.chain(() => planAlone(ofRank, options)),
    TE.map(({ staged }) => toPlanFile(staged)),
    TE.chain((file) =>
      pipe(
        programsOf(built, count, file),
        E.match(
          (misfit) => {
            const isTried = built.setup.plan !== undefined || [...tried, index].includes(misfit.rank)
            return misfit.failure.code !== 'budget' || isTried
              ? TE.left(misfitFailure(built, count, index, misfit))
              : planForAll(built, count, options, misfit.rank, [...tried, index])
          },
          (programs) =>
            pipe(
              TE.fromEither(proveTogether(programs)),
              TE.map((): PlanOfRows => ({
                file,
                hashes: programs.map(programHash),
                peakBytes: Math.max(...programs.map(({ peakBytes }) => peakBytes))
              }))
            )
        )
      )
    )
  )
}

/**
 * The first rank plans for the earlier of the ranks in the middle, which have rows of others on
 * either side: earlier ranks have no fewer rows. All run what it found, each on its rows.
 */
export const planRows =
  ({ rank, size: count, allGather }: Ranks): PlanTraining =>
  (built, options) =>
  async () => {
    const own: Outcome<Uint8Array> =
      rank === 0 ? pipe(planForAll(built, count, options, (count - 1) >> 1), TE.map(encodeJson)) : TE.right(new Uint8Array(0))
    return pipe(
      allGather(await own()),
      TE.map(([told]) => decodeJson(told!) as PlanOfRows),
      TE.chainEitherK(({ file, hashes, peakBytes }) =>
        pipe(
          decodePlanFile(file),
          E.mapLeft(inputFailure),
          E.chain(({ plan }) => planFor(built, { count, index: rank }, plan)),
          E.filterOrElse(
            ({ staged }) => programHash(staged.program) === hashes[rank],
            () => inputFailure(`rank ${rank} makes another Program of the plan than rank 0 does: start all ranks with the same build`)
          ),
          // The same on all ranks, so that they validate by the same plan.
          E.map((planned) => ({ ...planned, arenaBytes: planned.staged.budget ?? peakBytes }))
        )
      )
    )()
  }
