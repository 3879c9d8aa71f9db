import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { PlanFile } from '../../../dsl'
import { checkObjective, toPlanFile } from '../../../staging'
import type { Failure, Outcome } from '../../failure'
import type { DecodedTrainOptions } from '../../option-tables/train-options'
import { type Mesh, onMesh, plannedRank, ranksOfGroup } from '../../plans/mesh'
import { type SetupGraph, stagingFailure } from '../../plans/plan-network'
import type { Ranks } from '../../ranks/ranks'
import { type PlanTraining, planInProcess } from '../prepare'
import { type Misfit, type PlanOfRows, makePrograms, planFor } from './rank-programs'
import { type PlannedOn, shardWhereItPays, withWholeState } from './shard-where-it-pays'
import { agreeBefore, tellPlan } from './tell-plan'

/**
 * A plan's Programs; where one does not fit, those of the plan whose ranks compute nothing while
 * they exchange, if the plan was found.
 */
const makeFitting = (ranks: Ranks, built: SetupGraph, mesh: Mesh, found: PlanFile): Outcome<E.Either<Misfit, PlanOfRows>> => {
  const make = makePrograms(ranks, built, mesh)
  const { overlapReduction, edgeTilesFirst, ...alone } = found
  return pipe(
    make(found),
    TE.chain((made) =>
      E.isRight(made) ||
      (overlapReduction ?? edgeTilesFirst) === undefined ||
      built.setup.plan !== undefined ||
      made.left.failure.code !== 'budget'
        ? TE.right(made)
        : make(alone)
    )
  )
}

/** Says that the plan of one rank does not fit another; of a given plan staging has said it. */
const misfitFailure = ({ setup, graph }: SetupGraph, count: number, index: number, { rank, failure }: Misfit): Failure =>
  failure.code !== 'budget' || setup.plan !== undefined
    ? failure
    : {
        code: 'budget',
        message:
          failure.smallestFeasibleBudgetBytes === undefined
            ? `the plan of rank ${index} is not for rank ${rank}: ${failure.message}`
            : `${graph.model} on ${graph.input.join('x')} does not fit the budget on all of ${count} ranks: ` +
              `the plan of rank ${index} needs ${failure.smallestFeasibleBudgetBytes} bytes on rank ${rank}; raise --budget.`
      }

/**
 * The first rank plans for one of a group, and all prove that the plan is one for all; where it
 * does not fit another rank, the first plans for that one, unless it has been tried.
 */
const planForAll = (
  ranks: Ranks,
  built: SetupGraph,
  mesh: Mesh,
  options: DecodedTrainOptions,
  index: number,
  tried: readonly number[] = []
): Outcome<PlanOfRows> => {
  const ofGroups = onMesh(built, mesh, index)
  const found = pipe(
    TE.fromEither(E.mapLeft(stagingFailure)(checkObjective(ofGroups.graph, ofGroups.objective))),
    // As for one group, so that the plan is the same however many there are.
    TE.chain(() => planInProcess(onMesh(built, mesh.shardsOptimizer ? mesh : { ...mesh, microBatches: 1 }, index), options)),
    TE.map(({ staged }) => toPlanFile(staged))
  )
  return pipe(
    tellPlan(ranks, found),
    TE.chain((file) => makeFitting(ranks, built, mesh, file)),
    TE.chain(
      E.match((misfit: Misfit): Outcome<PlanOfRows> => {
        const isTried = built.setup.plan !== undefined || [...tried, index].includes(misfit.rank)
        return misfit.failure.code !== 'budget' || isTried
          ? TE.left(misfitFailure(built, ranksOfGroup(mesh), index, misfit))
          : planForAll(ranks, built, mesh, options, misfit.rank, [...tried, index])
      }, TE.right)
    )
  )
}

/** The first rank plans; all of a group run what it found, each on its part of a micro-batch. */
export const planRows =
  (ranks: Ranks, launched: Mesh): PlanTraining =>
  (asked, options) => {
    const built = withWholeState(asked, launched)
    const planOn = (mesh: Mesh): Outcome<PlanOfRows> => planForAll(ranks, built, mesh, options, plannedRank(mesh))
    return pipe(
      agreeBefore(ranks, asked),
      TE.chain(() => shardWhereItPays(built, launched, planOn, ({ file }) => file)),
      TE.chainEitherK(({ mesh, planned: { file, peakBytes } }: PlannedOn<PlanOfRows>) =>
        pipe(
          planFor(built, mesh, ranks.rank % ranksOfGroup(mesh), file),
          E.map(({ change, ...planned }) => ({
            ...planned,
            // Of a plan that another rank found there is nothing to say.
            ...(asked.setup.plan !== undefined && change !== undefined && { change }),
            // The same on all ranks, so that they validate by the same plan.
            budgetBytes: planned.staged.budget ?? peakBytes
          }))
        )
      )
    )
  }
