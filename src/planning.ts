import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import type { Model } from '../dsl'
import {
  type Objective,
  type ProfiledModel,
  type Source,
  type Staged,
  type StageRequest,
  type StagingError,
  type StrategyName,
  stage,
  verify
} from '../staging'
import type { Precision } from '../staging/program'
import { type TimeShares, deviceOf, timeShares } from './device'
import type { Failure } from './failure'
import type { Size } from './sizes'

/** What is trained, where, and within how much memory. */
export interface Setup {
  readonly model: Model
  /** [B, C, H, W]; the model's own where absent. */
  readonly input?: readonly number[]
  readonly device: 'cpu' | 'reference'
  /** The cpu computes in float32 only; the reference device in float64 where absent. */
  readonly precision?: Precision
  /** `auto` where absent. */
  readonly strategy?: StrategyName
  /** Unlimited where absent. */
  readonly budget?: Size
  /** All of the machine's where absent. */
  readonly threads?: number
}

export interface Planned {
  readonly staged: Staged
  readonly device: Setup['device']
  readonly threads: number
  /** Bytes of the arena: the budget, or where there is none just what the plan needs. */
  readonly arenaBytes: number
  readonly planningMilliseconds: number
  /** Of the proof that the Program may run (DESIGN §6). */
  readonly verifiedMilliseconds: number
  /** Where the predicted time comes from. */
  readonly timeShares: TimeShares
}

/** Per channel of an RGB image in [0, 1]: ImageNet's, as torchvision's weights expect. */
export const imageSource: Source = { kind: 'image', mean: [0.485, 0.456, 0.406], deviation: [0.229, 0.224, 0.225] }

export const stagingFailure = ({ code, message, smallestFeasibleBudgetBytes }: StagingError): Failure => ({
  code,
  message,
  ...(smallestFeasibleBudgetBytes === undefined ? {} : { smallestFeasibleBudgetBytes })
})

/** Fractions of plain need plain's peak, which costs one more staging. */
const budgetBytes = (size: Size | undefined, plainPeakBytes: () => E.Either<Failure, number>): E.Either<Failure, number | undefined> => {
  if (size === undefined || size.kind === 'bytes') return E.right(size?.bytes)
  return pipe(
    plainPeakBytes(),
    E.map((bytes) => Math.floor(bytes * size.fraction))
  )
}

/** Milliseconds of the proof that a Program may run; one that may not is a bug of the planner's. */
const verifyProgram = ({ graph, program }: Staged): E.Either<Failure, number> => {
  const started = performance.now()
  return pipe(
    verify(program),
    E.bimap(
      ({ message }): Failure => ({ code: 'bug', message: `the Program of ${graph.model} is refused before it runs: ${message}` }),
      () => performance.now() - started
    )
  )
}

interface Request extends StageRequest {
  readonly device: ProfiledModel
}

/** What staging is asked for a setup: its device as it was measured, or as `known`, and the budget in bytes. */
export const stageRequest = (setup: Setup, objective: Objective, source: Source, known?: ProfiledModel): E.Either<Failure, Request> =>
  pipe(
    E.Do,
    E.bind('device', () => (known === undefined ? deviceOf(setup) : E.right(known))),
    E.let('unlimited', ({ device }): Request => {
      const input = setup.input === undefined ? {} : { input: setup.input }
      return { model: setup.model, device, strategy: setup.strategy ?? 'auto', objective, source, ...input }
    }),
    E.bind('budget', ({ unlimited }) =>
      budgetBytes(setup.budget, () =>
        pipe(
          stage({ ...unlimited, strategy: 'plain' }),
          E.bimap(stagingFailure, (staged) => staged.plan.predicted.peakDeviceBytes)
        )
      )
    ),
    E.map(({ unlimited, budget }) => (budget === undefined ? unlimited : { ...unlimited, budget }))
  )

/** Stages the setup for an objective and verifies its Program. */
export const planNetwork = (setup: Setup, objective: Objective, source: Source, known?: ProfiledModel): E.Either<Failure, Planned> => {
  const started = performance.now()
  return pipe(
    E.Do,
    E.bind('request', () => stageRequest(setup, objective, source, known)),
    E.bind('staged', ({ request }) => E.mapLeft(stagingFailure)(stage(request))),
    E.bind('planningMilliseconds', () => E.right(performance.now() - started)),
    E.bind('verifiedMilliseconds', ({ staged }) => verifyProgram(staged)),
    E.map(({ request: { device, budget }, staged, planningMilliseconds, verifiedMilliseconds }) => ({
      staged,
      device: setup.device,
      threads: device.threads,
      arenaBytes: budget ?? staged.program.peakBytes,
      planningMilliseconds,
      verifiedMilliseconds,
      timeShares: timeShares(staged.program, device)
    }))
  )
}
