import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import {
  type DeviceModel,
  type Kernel,
  type PlanRequest,
  type ProfiledModel,
  isConvolution,
  keyOfKernel,
  plansOnLoad,
  smallerKernel,
  stageGraph
} from '../../staging'
import type { Failure } from '../failure'
import { type SetupGraph, planFailure, planRequest } from './plan-network'
import { launchCounts } from './program-statistics'
import type { RunnableSetup } from './setup'
import { pickWatching, type Watching } from './watching'

/** Plans of one graph on one device whose kernels are wanted. */
export interface WantedPlans extends Watching {
  readonly setups: readonly RunnableSetup[]
  readonly built: Pick<SetupGraph, 'objective' | 'source' | 'graph'>
  /** When to stop, by performance.now(): no plan is made from then on. Never where absent. */
  readonly until?: number
}

/** A kernel with the milliseconds that some plans are predicted to spend in it. */
interface LaunchedKernel {
  readonly kernel: Kernel
  readonly milliseconds: number
}

/** A kernel by every algorithm that the device has for it. */
export const algorithmVariants = ({ algorithms }: DeviceModel, kernel: Kernel): readonly Kernel[] => {
  if (algorithms === undefined || !isConvolution(kernel)) return [kernel]
  const direct = { ...kernel, algorithm: 0 }
  const others = algorithms(direct).filter(({ algorithm }) => algorithm !== 0)
  return [direct, ...others.map(({ algorithm }) => ({ ...kernel, algorithm }))]
}

/** Without a limit: a plan that stores what another does not may need more. */
const onlyGiven = ({ budget: _, hostBudget: __, memory: ___, ...request }: PlanRequest): PlanRequest => request

/** The kernels that plans launch, those first that take the most of the plans' predicted time. */
export const launchedKernels = (
  // Who measures looks at the signal, and tells what is kept.
  { setups, built, until = Infinity, signal: _, ...watching }: WantedPlans,
  device: ProfiledModel
): E.Either<Failure, readonly LaunchedKernel[]> => {
  const launched = new Map<string, LaunchedKernel>()
  for (const setup of setups) {
    if (performance.now() >= until) break
    const staged = pipe(
      planRequest({ ...built, setup }, { known: device, ...pickWatching(watching) }),
      E.chain((request) =>
        pipe(
          stageGraph(built.graph, request),
          E.chain((one) =>
            pipe(
              setup.exactKernels ? [] : plansOnLoad(one, request.device),
              E.traverseArray((given) => stageGraph(built.graph, { ...onlyGiven(request), given })),
              E.map((others) => [one, ...others])
            )
          ),
          E.mapLeft(planFailure(setup))
        )
      )
    )
    if (E.isLeft(staged)) {
      // A budget that nothing fits has no kernels.
      if (staged.left.code === 'budget') continue
      return staged
    }
    for (const { program } of staged.right)
      for (const [index, count] of launchCounts(program.step)) {
        const kernel = program.kernels[index]!
        const before = launched.get(keyOfKernel(kernel))?.milliseconds ?? 0
        launched.set(keyOfKernel(kernel), { kernel, milliseconds: before + count * device.milliseconds(kernel) })
      }
  }
  return E.right([...launched.values()].sort((a, b) => b.milliseconds - a.milliseconds))
}

/** The longest launches that are measured, in milliseconds: of convolutions, and of all else. */
export interface LongestLaunch {
  readonly convolution: number
  readonly other: number
}

/**
 * The kernel, or where a launch of it takes too long a smaller one of its configuration; none where
 * there is no smaller one.
 */
export const measurableKernel = (device: DeviceModel, longest: LongestLaunch, kernel: Kernel): readonly Kernel[] => {
  const most = isConvolution(kernel) ? longest.convolution : longest.other
  const milliseconds = device.milliseconds(kernel)
  if (milliseconds <= most) return [kernel]
  const smaller = smallerKernel(kernel, most / milliseconds)
  return smaller === undefined ? [] : [smaller]
}
