import { availableParallelism } from 'node:os'
import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import type { Model, Plan } from '../dsl'
import { type DeviceError, deviceModel } from '../native'
import {
  type Given,
  type Objective,
  type Source,
  type Staged,
  type StagingError,
  type StrategyName,
  checkPlanFile,
  stage
} from '../staging'
import type { DeviceModel } from '../staging/device-model'
import type { Precision } from '../staging/program'
import type { Failure } from './failure'
import { planChange } from './plan-file'
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
  /** Decisions to take in place of a strategy's; the plan's input and budget count where none are given here. */
  readonly plan?: Plan
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
  /** Where a given plan was made for something else than it runs as now: a sentence for people. */
  readonly change?: string
}

/** Per channel of an RGB image in [0, 1]: ImageNet's, as torchvision's weights expect. */
export const imageSource: Source = { kind: 'image', mean: [0.485, 0.456, 0.406], deviation: [0.229, 0.224, 0.225] }

const stagingFailure = ({ code, message, smallestFeasibleBudgetBytes }: StagingError): Failure => ({
  code,
  message,
  ...(smallestFeasibleBudgetBytes === undefined ? {} : { smallestFeasibleBudgetBytes })
})

/** A machine with less memory than was asked for is no fault of the device's. */
export const deviceFailure = ({ code, message }: DeviceError): Failure => ({ code: code === 'memory' ? 'input' : code, message })

/** Fractions of plain need plain's peak, which costs one more staging. */
const budgetBytes = (size: Size | undefined, plainPeakBytes: () => E.Either<Failure, number>): E.Either<Failure, number | undefined> => {
  if (size === undefined || size.kind === 'bytes') return E.right(size?.bytes)
  return pipe(
    plainPeakBytes(),
    E.map((bytes) => Math.floor(bytes * size.fraction))
  )
}

const budgetOf = (plan: Plan | undefined): Size | undefined =>
  plan === undefined || plan.budget === null ? undefined : { kind: 'bytes', bytes: plan.budget }

const changeOf = (plan: Plan | undefined, staged: Staged, objective: Objective): Pick<Planned, 'change'> => {
  const change = plan && planChange(plan, staged, objective)
  return change === undefined ? {} : { change }
}

/** The plan's decisions, once it is known to be for this model and input. Its own peak matters only under its own budget. */
const givenBy = ({ model, input, plan, budget }: Setup): E.Either<Failure, Given | undefined> =>
  plan === undefined
    ? E.right(undefined)
    : pipe(
        checkPlanFile(
          { ...model, ...(input === undefined ? {} : { input }) },
          { ...plan, budget: budget === undefined ? plan.budget : null }
        ),
        E.mapLeft(stagingFailure)
      )

/** Stages the setup for an objective; pure but for the device's answers about its kernels. */
export const planNetwork = (setup: Setup, objective: Objective, source: Source): E.Either<Failure, Planned> => {
  const started = performance.now()
  const threads = setup.threads ?? availableParallelism()
  const precision = setup.precision ?? (setup.device === 'cpu' ? 'float32' : 'float64')
  const input = setup.input ?? setup.plan?.input
  const size = setup.budget ?? budgetOf(setup.plan)
  const stageFor = (device: DeviceModel, strategy: StrategyName, budget: number | undefined, given?: Given): E.Either<Failure, Staged> =>
    pipe(
      stage({
        model: setup.model,
        device,
        strategy,
        objective,
        source,
        ...(input === undefined ? {} : { input }),
        ...(given === undefined ? {} : { given }),
        ...(budget === undefined ? {} : { budget })
      }),
      E.mapLeft(stagingFailure)
    )
  return pipe(
    E.Do,
    E.bind('given', () => givenBy(setup)),
    E.bind('device', () => E.mapLeft(deviceFailure)(deviceModel(setup.device, precision, threads))),
    E.bind('budget', ({ device }) =>
      budgetBytes(size, () => E.map((staged: Staged) => staged.plan.predicted.peakDeviceBytes)(stageFor(device, 'plain', undefined)))
    ),
    E.bind('staged', ({ device, budget, given }) => stageFor(device, setup.strategy ?? 'sft', budget, given)),
    E.map(({ staged, budget }) => ({
      staged,
      device: setup.device,
      threads,
      arenaBytes: budget ?? staged.program.peakBytes,
      planningMilliseconds: performance.now() - started,
      ...changeOf(setup.plan, staged, objective)
    }))
  )
}
