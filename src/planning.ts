import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import type { Model } from '../dsl'
import {
  type Objective,
  type ProfiledModel,
  type Source,
  type Staged,
  type StagingError,
  type StrategyName,
  stage,
  verify
} from '../staging'
import type { DeviceModel } from '../staging/device-model'
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

const stagingFailure = ({ code, message, smallestFeasibleBudgetBytes }: StagingError): Failure => ({
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

/** Stages the setup for an objective, on its device as it was measured, or as `known`, and verifies its Program. */
export const planNetwork = (setup: Setup, objective: Objective, source: Source, known?: ProfiledModel): E.Either<Failure, Planned> => {
  const started = performance.now()
  const stageFor = (device: DeviceModel, strategy: StrategyName, budget: number | undefined): E.Either<Failure, Staged> =>
    pipe(
      stage({
        model: setup.model,
        device,
        strategy,
        objective,
        source,
        ...(setup.input === undefined ? {} : { input: setup.input }),
        ...(budget === undefined ? {} : { budget })
      }),
      E.mapLeft(stagingFailure)
    )
  return pipe(
    E.Do,
    E.bind('device', () => (known === undefined ? deviceOf(setup) : E.right(known))),
    E.bind('budget', ({ device }) =>
      budgetBytes(setup.budget, () =>
        E.map((staged: Staged) => staged.plan.predicted.peakDeviceBytes)(stageFor(device, 'plain', undefined))
      )
    ),
    E.bind('staged', ({ device, budget }) => stageFor(device, setup.strategy ?? 'sft', budget)),
    E.bind('planningMilliseconds', () => E.right(performance.now() - started)),
    E.bind('verifiedMilliseconds', ({ staged }) => verifyProgram(staged)),
    E.map(({ staged, budget, device, planningMilliseconds, verifiedMilliseconds }) => ({
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
