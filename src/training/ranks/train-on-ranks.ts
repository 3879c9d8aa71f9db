import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import type { Failure, Outcome } from '../../failure'
import type { DecodedTrainOptions } from '../../option-tables/train-options'
import { ranksOfGroup } from '../../plans/mesh'
import { checkToldMesh, toldMesh } from '../../plans/told-mesh'
import { claimGpu } from '../../ranks/own-gpu'
import type { Ranks } from '../../ranks/ranks'
import { agreeOnRanks } from './agree-on-ranks'
import { planMicroBatches } from './plan-micro-batches'
import { planRows } from './plan-rows'
import { type PlanTraining, type PreparedTraining, prepareTraining } from '../prepare'
import type { TrainingRequest } from '../request'

/** Checks that options go with ranks, and claims a GPU; one sentence where they do not. */
export const checkRanks = (options: DecodedTrainOptions, { size }: Ranks): E.Either<Failure, void> =>
  pipe(
    checkToldMesh(options, options.accumulate, size),
    E.chain(() => (options.device === 'cuda' ? claimGpu() : E.right(undefined)))
  )

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
      const mesh = toldMesh(request.options, ranks.size)
      return (ranksOfGroup(mesh) > 1 ? planRows(ranks, mesh) : planMicroBatches(ranks, mesh))(built, options)
    }
    const prepared = await prepareTraining(request, plan)()
    // The others wait for the plan: they shall hear that there will be none.
    if (E.isLeft(prepared) && !hasMet) await ranks.allGather(prepared)()
    return agreeOnRanks(ranks, prepared)()
  }
