import { createHash } from 'node:crypto'
import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { PlanFile } from '../../dsl'
import { type Program, checkObjective, decodePlanFile, toPlanFile, verifyRanks } from '../../staging'
import { type Failure, type Outcome, inputFailure } from '../failure'
import type { DecodedTrainOptions } from '../option-tables/train-options'
import { type Mesh, onMesh, plannedRank, ranksOfGroup } from '../plans/mesh'
import { type Planned, type SetupGraph, planNetwork, stagingFailure } from '../plans/plan-network'
import { type Ranks, decodeJson, encodeJson } from '../ranks/ranks'
import { type PlanTraining, planInProcess } from './prepare'
import { type PlannedOn, shardWhereItPays } from './shard-where-it-pays'

/** The plan of the rank at an index of those that share a micro-batch, by a file. */
const planFor = (built: SetupGraph, mesh: Mesh, index: number, plan: PlanFile): E.Either<Failure, Planned> =>
  planNetwork(onMesh({ ...built, setup: { ...built.setup, plan } }, mesh, index))

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

/** The Programs that the ranks of a group get of a plan; all groups have the same. */
const makePrograms = (built: SetupGraph, mesh: Mesh, file: PlanFile): E.Either<Misfit, readonly Program[]> =>
  E.traverseArray((rank: number) =>
    pipe(
      planFor(built, mesh, rank, { ...file, budget: null }),
      E.bimap(
        (failure): Misfit => ({ rank, failure }),
        ({ staged }) => staged.program
      )
    )
  )(Array.from({ length: ranksOfGroup(mesh) }, (_, rank) => rank))

/**
 * A plan's Programs; where one does not fit, those of the plan whose ranks compute nothing while
 * they exchange, if the plan was found.
 */
const makeFitting = (
  built: SetupGraph,
  mesh: Mesh,
  found: PlanFile
): E.Either<Misfit, { readonly file: PlanFile; readonly programs: readonly Program[] }> => {
  const made = (file: PlanFile) => E.map((programs: readonly Program[]) => ({ file, programs }))(makePrograms(built, mesh, file))
  const { overlapReduction, edgeTilesFirst, ...alone } = found
  return pipe(
    made(found),
    E.orElse((misfit) =>
      (overlapReduction ?? edgeTilesFirst) === undefined || built.setup.plan !== undefined || misfit.failure.code !== 'budget'
        ? E.left(misfit)
        : made(alone)
    )
  )
}

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
          failure.smallestFeasibleBudgetBytes === undefined
            ? `the plan of rank ${index} is not for rank ${rank}: ${failure.message}`
            : `${graph.model} on ${graph.input.join('x')} does not fit the budget on all of ${count} ranks: ` +
              `the plan of rank ${index} needs ${failure.smallestFeasibleBudgetBytes} bytes on rank ${rank}; raise --budget.`
      }

/**
 * Plans for one rank and proves that the plan is one for all; where it does not fit another rank,
 * plans for that one, unless it has been tried.
 */
const planForAll = (
  built: SetupGraph,
  mesh: Mesh,
  options: DecodedTrainOptions,
  index: number,
  tried: readonly number[] = []
): Outcome<PlanOfRows> => {
  const ofGroups = onMesh(built, mesh, index)
  return pipe(
    TE.fromEither(E.mapLeft(stagingFailure)(checkObjective(ofGroups.graph, ofGroups.objective))),
    // As for one group, so that the plan is the same however many there are.
    TE.chain(() => planInProcess(onMesh(built, mesh.shardsOptimizer ? mesh : { ...mesh, microBatches: 1 }, index), options)),
    TE.map(({ staged }) => toPlanFile(staged)),
    TE.chain((found) =>
      pipe(
        makeFitting(built, mesh, found),
        E.match(
          (misfit) => {
            const isTried = built.setup.plan !== undefined || [...tried, index].includes(misfit.rank)
            return misfit.failure.code !== 'budget' || isTried
              ? TE.left(misfitFailure(built, ranksOfGroup(mesh), index, misfit))
              : planForAll(built, mesh, options, misfit.rank, [...tried, index])
          },
          ({ file, programs }) =>
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

/** The first rank plans; all of a group run what it found, each on its part of a micro-batch. */
export const planRows =
  ({ rank, allGather }: Ranks, launched: Mesh): PlanTraining =>
  (built, options) =>
  async () => {
    const index = rank % ranksOfGroup(launched)
    const planOn = (mesh: Mesh): Outcome<PlanOfRows> => planForAll(built, mesh, options, plannedRank(mesh))
    const chosen = shardWhereItPays(built, launched, planOn, ({ file }) => file)
    const own: Outcome<Uint8Array> = rank === 0 ? TE.map(encodeJson)(chosen) : TE.right(new Uint8Array(0))
    return pipe(
      allGather(await own()),
      TE.map(([told]) => decodeJson(told!) as PlannedOn<PlanOfRows>),
      TE.chainEitherK(({ mesh, planned: { file, hashes, peakBytes } }) =>
        pipe(
          decodePlanFile(file),
          E.mapLeft(inputFailure),
          E.chain(({ plan }) => planFor(built, mesh, index, plan)),
          E.filterOrElse(
            ({ staged }) => programHash(staged.program) === hashes[index],
            () => inputFailure(`rank ${rank} makes another Program of the plan than rank 0 does: start all ranks with the same build`)
          ),
          // The same on all ranks, so that they validate by the same plan.
          E.map((planned) => ({ ...planned, arenaBytes: planned.staged.budget ?? peakBytes }))
        )
      )
    )()
  }
