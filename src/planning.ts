import { availableParallelism } from 'node:os'
import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import type { Model } from '../dsl'
import { type DeviceError, deviceModel } from '../native'
import { type Objective, type Source, type Staged, type StageRequest, type StagingError, type StrategyName, stage } from '../staging'
import type { Precision } from '../staging/program'
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
}

/** Per channel of an RGB image in [0, 1]: ImageNet's, as torchvision's weights expect. */
export const imageSource: Source = { kind: 'image', mean: [0.485, 0.456, 0.406], deviation: [0.229, 0.224, 0.225] }

export const stagingFailure = ({ code, message, smallestFeasibleBudgetBytes }: StagingError): Failure => ({
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

const threadsOf = ({ threads }: Setup): number => threads ?? availableParallelism()

/** What staging is asked for a setup: the device opened, the budget in bytes. */
export const stageRequest = (setup: Setup, objective: Objective, source: Source): E.Either<Failure, StageRequest> => {
  const precision = setup.precision ?? (setup.device === 'cpu' ? 'float32' : 'float64')
  return pipe(
    E.Do,
    E.bind('device', () => E.mapLeft(deviceFailure)(deviceModel(setup.device, precision, threadsOf(setup)))),
    E.let('unlimited', ({ device }): StageRequest => {
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
}

/** Stages the setup for an objective; pure but for the device's answers about its kernels. */
export const planNetwork = (setup: Setup, objective: Objective, source: Source): E.Either<Failure, Planned> => {
  const started = performance.now()
  return pipe(
    E.Do,
    E.bind('request', () => stageRequest(setup, objective, source)),
    E.bind('staged', ({ request }) => E.mapLeft(stagingFailure)(stage(request))),
    E.map(({ request, staged }) => ({
      staged,
      device: setup.device,
      threads: threadsOf(setup),
      arenaBytes: request.budget ?? staged.program.peakBytes,
      planningMilliseconds: performance.now() - started
    }))
  )
}
