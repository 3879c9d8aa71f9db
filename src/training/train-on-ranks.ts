import * as E from 'fp-ts/Either'
import { type Failure, type Outcome, inputFailure } from '../failure'
import type { DecodedTrainOptions } from '../option-tables/train-options'
import { ranksOfGroup } from '../plans/mesh'
import { claimGpu } from '../ranks/own-gpu'
import type { Ranks } from '../ranks/ranks'
import { agreeOnRanks } from './agree-on-ranks'
import { launchedMesh } from './launched-mesh'
import { planMicroBatches } from './plan-micro-batches'
import { planRows } from './plan-rows'
import { type PlanTraining, type PreparedTraining, prepareTraining } from './prepare'
import type { TrainingRequest } from './request'

/** A sentence on ranks that make no groups of the size that options ask for. */
const groupsFailure = ({ shardImages, shardRows }: DecodedTrainOptions, size: number): string => {
  const asked = [
    { what: 'images', option: '--shard-images', parts: shardImages },
    { what: 'rows', option: '--shard-rows', parts: shardRows }
  ].filter(({ parts }) => typeof parts === 'number')
  const group = asked.reduce((product, { parts }) => product * Number(parts), 1)
  const [names, options] = [asked.map(({ what }) => what).join(' and '), asked.map(({ option }) => option).join(' and ')]
  return `${size} ranks make no groups of ${group} that share ${names}: start a multiple of ${group}, or give ${options} a divisor of ${size}`
}

/** Checks that options go with ranks, and claims a GPU; one sentence where they do not. */
export const checkRanks = (options: DecodedTrainOptions, { size }: Ranks): E.Either<Failure, void> => {
  const { accumulate, device, shardImages, shardRows } = options
  const mesh = launchedMesh(options, size)
  const { microBatches, rows, images = 1 } = mesh
  if (shardImages === true && shardRows === true)
    return E.left(inputFailure('--shard-images and --shard-rows: say of one of them into how many parts'))
  if (![microBatches, rows, images].every(Number.isSafeInteger)) return E.left(inputFailure(groupsFailure(options, size)))
  const group = ranksOfGroup(mesh)
  if (accumulate % microBatches !== 0)
    return E.left(
      inputFailure(
        `${microBatches} ${group > 1 ? `groups of ${group} ranks` : 'ranks'} share the micro-batches of an update: give --accumulate ${microBatches}, or a multiple of it, in place of ${accumulate}`
      )
    )
  return device === 'cuda' ? claimGpu() : E.right(undefined)
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
      const mesh = launchedMesh(request.options, ranks.size)
      return (ranksOfGroup(mesh) > 1 ? planRows(ranks, mesh) : planMicroBatches(ranks, mesh))(built, options)
    }
    const prepared = await prepareTraining(request, plan)()
    // The others wait for the plan: they shall hear that there will be none.
    if (E.isLeft(prepared) && !hasMet) await ranks.allGather(prepared)()
    return agreeOnRanks(ranks, prepared)()
  }
