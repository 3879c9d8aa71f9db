import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { Failure, Outcome } from '../failure'
import type { PreparedTraining } from '../training/prepare'
import type { TrainingRequest } from '../training/request'
import type { Ending, Tracker } from '../training/tracker'
import type * as Mlflow from './mlflow'
import type * as TensorBoard from './tensorboard'
import { type TrackedRun, allTrackers } from './tracked-run'

const trackedRun = ({ request: { options, setup }, planned: { staged }, fingerprint, rates, state }: PreparedTraining): TrackedRun => ({
  graph: staged.graph,
  hyperParameters: {
    ...fingerprint,
    ...rates,
    strategy: staged.strategy,
    device: `${setup.device}`,
    precision: staged.program.precision,
    budget: `${staged.budget ?? 'no limit'}`,
    batch: `${staged.program.input[0] * options.accumulate}`
  },
  stepsBefore: state?.record.loss.length ?? 0
})

/** Refuses a server that does not answer, before anything is planned. */
export const checkTrackers = ({ mlflow }: Pick<TrainingRequest['options'], 'mlflow'>): Outcome<unknown> =>
  mlflow === undefined ? TE.right(undefined) : (require('./mlflow') as typeof Mlflow).checkMlflow(mlflow)

/** Opens those that are asked for; where one fails, those before it are closed. */
const openTrackers = (prepared: PreparedTraining): Outcome<readonly Tracker[]> => {
  const { options, notify } = prepared.request
  const run = trackedRun(prepared)
  const openings: readonly Outcome<Tracker>[] = [
    ...(options.tensorboard === undefined
      ? []
      : [(require('./tensorboard') as typeof TensorBoard).openTensorBoard(options.tensorboard, run)]),
    ...(options.mlflow === undefined ? [] : [(require('./mlflow') as typeof Mlflow).openMlflow(options.mlflow, run, notify)])
  ]
  return async () => {
    const opened: Tracker[] = []
    for (const open of openings) {
      const tracker = await open()
      if (E.isLeft(tracker)) {
        await allTrackers(opened).close('failed')
        return tracker
      }
      opened.push(tracker.right)
    }
    return E.right(opened)
  }
}

const toEnding = (outcome: E.Either<Failure, unknown>): Ending =>
  E.isRight(outcome) ? 'finished' : outcome.left.code === 'interrupted' ? 'interrupted' : 'failed'

/** Lets TensorBoard and MLflow follow what runs, where asked to, and tells them its end. */
export const withTrackers = <A>(prepared: PreparedTraining, use: (tracker: Tracker | undefined) => Outcome<A>): Outcome<A> =>
  pipe(
    openTrackers(prepared),
    TE.chain((trackers) => async () => {
      if (trackers.length === 0) return use(undefined)()
      const tracker = allTrackers(trackers)
      let ending: Ending = 'failed'
      try {
        const outcome = await use(tracker)()
        ending = toEnding(outcome)
        return outcome
      } finally {
        await tracker.close(ending)
      }
    })
  )
