import { createHash } from 'node:crypto'
import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { PlanFile } from '../../dsl'
import { versions } from '../../native'
import { type Objective, type Shard, type Training, checkObjective, decodePlanFile, toPlanFile, verifyRanks } from '../../staging'
import type { Program } from '../../staging/program/program'
import { type Failure, type Outcome, deviceFailure, inputFailure } from '../failure'
import type { DecodedTrainOptions } from '../option-tables/train-options'
import { extentText } from '../images/resolution'
import { type Planned, type SetupGraph, planNetwork, stagingFailure } from '../plans/plan-network'
import { type Ranks, decodeJson, encodeJson } from '../ranks/ranks'
import { type PlanTraining, type PreparedTraining, planAlone, prepareTraining } from './prepare'
import { type TrainingRecord, emptyRecord } from './record'
import type { TrainingRequest } from './request'

/** What ranks that share rows do not do yet. */
const reasonAgainstRows = ({ validation, hostBudget, precision }: DecodedTrainOptions): string | undefined => {
  if (validation !== undefined) return '--validation is not for --shard-rows yet: leave it out, and validate the weights by one process'
  if (hostBudget !== undefined) return '--host-budget is not for --shard-rows yet: leave it out'
  return precision === 'bf16' ? '--precision bf16 is not for --shard-rows yet: take another' : undefined
}

/** Checks that options go with ranks; one sentence where they do not. */
export const checkRanks = (options: DecodedTrainOptions, { size }: Ranks): E.Either<Failure, void> => {
  const { accumulate, device, skipBad, shardRows } = options
  const reason = shardRows ? reasonAgainstRows(options) : undefined
  if (reason !== undefined) return E.left(inputFailure(reason))
  if (!shardRows && accumulate % size !== 0)
    return E.left(
      inputFailure(
        `${size} ranks share the micro-batches of an update: give --accumulate ${size}, or a multiple of it, in place of ${accumulate}`
      )
    )
  if (device === 'cuda') return E.left(inputFailure('ranks train on processors alone: give --device cpu, or start one process'))
  return skipBad
    ? E.left(inputFailure('--skip-bad is not for ranks, which would draw each for itself: find the damaged images with --check-data first'))
    : E.right(undefined)
}

/** What the first rank alone reads and writes. */
const ofFirstRank = [
  'weights',
  'reset',
  'state',
  'stateEvery',
  'save',
  'best',
  'perImage',
  'metrics',
  'report',
  'trace',
  'tensorboard',
  'mlflow',
  'live',
  'heatmap'
] as const satisfies readonly (keyof DecodedTrainOptions)[]

/** The options of a rank: the first alone reads weights and states, and writes files. */
export const optionsOfRank = (options: DecodedTrainOptions, { rank }: Ranks): DecodedTrainOptions => {
  if (rank === 0) return options
  const others: Omit<DecodedTrainOptions, (typeof ofFirstRank)[number]> = { ...options }
  for (const name of ofFirstRank) delete (others as Partial<DecodedTrainOptions>)[name]
  return { ...others, newHead: false, resume: false }
}

const withObjective = (built: SetupGraph, more: Pick<Training, 'ranks' | 'shard'>): SetupGraph => {
  const objective: Objective = built.objective.kind === 'train' ? { ...built.objective, ...more } : built.objective
  return { ...built, objective }
}

/** A training whose micro-batches so many ranks share. */
const sharedBy = (built: SetupGraph, ranks: number): SetupGraph => withObjective(built, { ranks })

/**
 * The first rank plans, as for one rank, so that the plan is the same however many there are; all
 * run what it found.
 */
const planOnRanks =
  (ranks: Ranks): PlanTraining =>
  (built, options) =>
  async () => {
    const own: Outcome<Uint8Array> =
      ranks.rank === 0
        ? pipe(
            planAlone(sharedBy(built, 1), options),
            TE.map(({ staged }) => encodeJson(toPlanFile(staged)))
          )
        : TE.right(new Uint8Array(0))
    return pipe(
      ranks.allGather(await own()),
      TE.chainEitherK(([file]) => E.mapLeft(inputFailure)(decodePlanFile(decodeJson(file!)))),
      TE.chainEitherK(({ plan }) => planNetwork(sharedBy({ ...built, setup: { ...built.setup, plan } }, ranks.size)))
    )()
  }

/** The plan of one rank of those that share rows, under a budget. */
const planFor = (built: SetupGraph, shard: Shard, plan: PlanFile | undefined): E.Either<Failure, Planned> =>
  planNetwork(withObjective({ ...built, setup: { ...built.setup, ...(plan && { plan }) } }, { shard }))

const hashOf = ({ kernels, buffers, ...program }: Program): string =>
  createHash('sha256')
    .update(JSON.stringify([kernels, buffers, program]))
    .digest('hex')
    .slice(0, 12)

/** What the first rank tells the others: the plan, and the Program of each rank by its hash. */
interface PlanOfRows {
  readonly file: PlanFile
  readonly hashes: readonly string[]
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
  const ofRank = withObjective(built, { shard: { count, index } })
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
              TE.map((): PlanOfRows => ({ file, hashes: programs.map(hashOf) }))
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
const planRows =
  ({ rank, size: count, allGather }: Ranks): PlanTraining =>
  (built, options) =>
  async () => {
    const own: Outcome<Uint8Array> =
      rank === 0 ? pipe(planForAll(built, count, options, (count - 1) >> 1), TE.map(encodeJson)) : TE.right(new Uint8Array(0))
    return pipe(
      allGather(await own()),
      TE.map(([told]) => decodeJson(told!) as PlanOfRows),
      TE.chainEitherK(({ file, hashes }) =>
        pipe(
          decodePlanFile(file),
          E.mapLeft(inputFailure),
          E.chain(({ plan }) => planFor(built, { count, index: rank }, plan)),
          E.filterOrElse(
            ({ staged }) => hashOf(staged.program) === hashes[rank],
            () => inputFailure(`rank ${rank} makes another Program of the plan than rank 0 does: start all ranks with the same build`)
          )
        )
      )
    )()
  }

/** All that must be the same on all ranks, by its name in a sentence. */
const choicesOf = ({
  request: { options },
  planned,
  fingerprint,
  rates,
  steps,
  validationGroups
}: PreparedTraining): E.Either<Failure, object> =>
  pipe(
    versions(),
    E.bimap(deviceFailure, ({ library, version, instructionSet }) => {
      const { staged, device, math, threads } = planned
      const { validateEvery, earlyStop, bestBy } = options
      const named = Object.fromEntries(
        Object.entries({ ...fingerprint, ...rates, steps, validateEvery, earlyStop, bestBy, device, math, threads }).map(
          ([name, value]) => [`--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`, value]
        )
      )
      return {
        Tilefold: (require('tilefold/package.json') as { readonly version: string }).version,
        library: `${library} ${version}`,
        instructions: instructionSet,
        ...named,
        ...(options.shardRows ? {} : { 'program of hash': hashOf(staged.program) }),
        'validation by': validationGroups?.map(({ window }) => extentText(window)).join(', ') ?? 'crops'
      }
    })
  )

type Choices = Readonly<Record<string, unknown>>

/**
 * A sentence on the first thing in which a rank differs from the first rank; undefined where all
 * are alike.
 */
const firstDifference = (all: readonly Choices[]): string | undefined => {
  const [first = {}, ...others] = all
  for (const [index, other] of others.entries())
    for (const name of new Set([...Object.keys(first), ...Object.keys(other)])) {
      const [wanted, found] = [first[name] ?? 'none', other[name] ?? 'none']
      if (wanted !== found)
        return `rank ${index + 1} has ${name} ${String(found)} where rank 0 has ${String(wanted)}: start all ranks with the same options, data and build`
    }
  return undefined
}

interface Told {
  readonly choices: Choices
  readonly record: TrainingRecord
}

/** Compares what was prepared on all ranks; the others go on from the first one's state. */
const agree = (ranks: Ranks, prepared: E.Either<Failure, PreparedTraining>): Outcome<PreparedTraining> => {
  const told = pipe(
    prepared,
    E.chain((found) => E.map((choices: object) => encodeJson({ choices, record: found.state?.record ?? emptyRecord }))(choicesOf(found)))
  )
  return pipe(
    ranks.allGather(told),
    TE.map((all) => all.map((bytes) => decodeJson(bytes) as Told)),
    TE.chain((all) => {
      const difference = firstDifference(all.map(({ choices }) => choices))
      return pipe(
        // All have found the same, and say so once.
        difference === undefined ? TE.right([]) : ranks.allGather(E.left(inputFailure(difference))),
        TE.chainEitherK(() => prepared),
        TE.map((found): PreparedTraining => {
          const { record } = all[0]!
          return ranks.rank === 0 || record.loss.length === 0 ? found : { ...found, state: { record, restore: () => TE.right(undefined) } }
        })
      )
    })
  )
}

/**
 * Prepares a training on all ranks: by one plan, and only where they agree. What fails on one rank
 * fails on all.
 */
export const prepareOnRanks =
  (request: TrainingRequest, ranks: Ranks): Outcome<PreparedTraining> =>
  async () => {
    let hasMet = false
    const plan: PlanTraining = (built, options) => {
      hasMet = true
      return (request.options.shardRows ? planRows : planOnRanks)(ranks)(built, options)
    }
    const prepared = await prepareTraining(request, plan)()
    // The others wait for the plan: they shall hear that there will be none.
    if (E.isLeft(prepared) && !hasMet) await ranks.allGather(prepared)()
    return agree(ranks, prepared)()
  }
