import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import type { PlanFile } from '../../dsl'
import { type MathMode, timedPrecision, libraryName, mathMode } from '../../native'
import {
  type Budget,
  type Graph,
  type Plan,
  type PlanRequest,
  type Kernel,
  type NetworkRates,
  type Objective,
  type Profile,
  type ProfiledModel,
  type Source,
  type Staged,
  type StagingError,
  checkPlanFile,
  deviceFileName,
  buildRequestGraph,
  isConvolution,
  isProfile,
  isRecorded,
  stageGraph,
  bytesOfPlain,
  plainPeakBytes,
  findUnrecorded,
  verify
} from '../../staging'
import { loadDeviceModel } from './device'
import { type TimeShares, timeShares } from './program-statistics'
import { type Failure, interrupted } from '../failure'
import { meshOf } from './mesh'
import { readNetwork } from './network-cache'
import { describePlanChange } from './plan-file'
import type { Setup } from './setup'
import { present } from '../options/present'
import type { Size } from '../options/sizes'
import { throttleSearch, type Watching } from './watching'

/** A network with its plan, and with what the plan was made for. */
export interface Planned {
  readonly staged: Staged
  /** The request that staging answered. */
  readonly request: PlanRequest
  readonly device: Setup['device']
  /** The arithmetic that products are computed in. */
  readonly math: MathMode
  readonly threads: number
  /** Bytes within which validations run: the budget, or the plan's own peak where there is none. */
  readonly budgetBytes: number
  /**
   * Limit in bytes per second of either direction between the device and the host pool; absent
   * where there is none.
   */
  readonly linkBytesPerSecond?: number
  readonly planningMilliseconds: number
  /** Milliseconds of the proof that the Program may run. */
  readonly verifiedMilliseconds: number
  /**
   * Shares of the predicted time by origin: measured, interpolated, extrapolated, by the roofline.
   */
  readonly timeShares: TimeShares
  /** Milliseconds that a launch of a kernel is predicted to take. */
  readonly predictedMilliseconds: (kernel: Kernel) => number
  /** A sentence on the file of a given plan, for people. */
  readonly planNotice?: string
  /** A sentence for people on options that are for built-in models, beside another model. */
  readonly modelNotice?: string
  /** A sentence for people where a given plan was made for something else than it runs as now. */
  readonly change?: string
  /**
   * A sentence for people where a recorded GPU was not asked about all of the plan's convolutions,
   * or a profile is of another cpu.
   */
  readonly guess?: string
}

/** Per channel of an RGB image in [0, 1]: ImageNet's, as torchvision's weights expect. */
export const imageNetSource: Source = { kind: 'image', mean: [0.485, 0.456, 0.406], deviation: [0.229, 0.224, 0.225] }

/**
 * A failure of staging as the library's, with its code, sentence and smallest feasible budget in
 * bytes.
 */
export const stagingFailure = ({ code, message, smallestFeasibleBudgetBytes }: StagingError): Failure => ({
  code,
  message,
  ...(smallestFeasibleBudgetBytes === undefined ? {} : { smallestFeasibleBudgetBytes })
})

/** As stagingFailure; where the decisions of a plan's file are at fault, the sentence names it. */
export const planFailure =
  ({ planPath }: Pick<Setup, 'planPath'>) =>
  (error: StagingError): Failure =>
    stagingFailure(error.isOfPlan && planPath !== undefined ? { ...error, message: `the plan ${planPath}: ${error.message}` } : error)

const asBudget = (size: Size): Budget => (size.kind === 'bytes' ? { bytes: size.bytes } : { fractionOfPlain: size.fraction })

/**
 * The memory that a setup allows: a described device has its own, and no more; what was recorded of
 * a GPU plans as that GPU does, without a limit where none is given.
 */
const resolveLimits = ({ device, plan, ...setup }: Setup): Pick<PlanRequest, 'budget' | 'memory' | 'hostBudget'> => {
  const size = setup.budget ?? planBudget(plan)
  const host = setup.hostBudget === undefined ? {} : { hostBudget: asBudget(setup.hostBudget) }
  const asked = size === undefined ? {} : { budget: asBudget(size) }
  if (typeof device === 'string' || isProfile(device)) return { ...asked, ...host }
  const { name, memoryBytes } = device
  return { ...(isRecorded(device) ? {} : { budget: { bytes: memoryBytes } }), ...asked, ...host, memory: { name, bytes: memoryBytes } }
}

/** Whether a setup's plan must fit some memory. */
export const isLimited = (setup: Setup): boolean => resolveLimits(setup).budget !== undefined

const planBudget = (plan: PlanFile | undefined): Size | undefined =>
  plan === undefined || plan.budget === null ? undefined : { kind: 'bytes', bytes: plan.budget }

const describeChange = ({ plan, planPath, budget }: Setup, staged: Staged): E.Either<Failure, Pick<Planned, 'change'>> =>
  plan === undefined
    ? E.right({})
    : E.map((change: string | undefined) => (change === undefined ? {} : { change }))(
        describePlanChange(plan, staged, { budgeted: budget !== undefined, planPath })
      )

const guessOfOtherCpu = (profile: Profile): Pick<Planned, 'guess'> => {
  const library = libraryName({ device: 'cpu', precision: timedPrecision(profile.library), threads: profile.threads })
  if (E.isLeft(library) || library.right === profile.library) return {}
  return { guess: `${deviceFileName(profile)} gave the times alone: layouts and scratch are those of ${library.right} on this machine` }
}

const describeGuess = ({ device }: Setup, { program }: Staged): Pick<Planned, 'guess'> => {
  if (typeof device === 'string') return {}
  if (isProfile(device)) return guessOfOtherCpu(device)
  if (!isRecorded(device)) return {}
  const missing = findUnrecorded(device, program.kernels).length
  if (missing === 0) return {}
  const guess =
    `${device.name} was not asked about ${missing} of the plan's ${program.kernels.filter(isConvolution).length} convolutions: ` +
    `their scratch is taken from others of their kind; record this plan there with tilefold profile --device cuda --out`
  return { guess }
}

/** The device with a link no faster than its limit. */
const withBandwidth = (device: ProfiledModel, limit: number | undefined): ProfiledModel => {
  const { toDevice, toHost } = device.linkBytesPerSecond
  const slower = (rate: number): number => Math.min(rate, limit ?? rate)
  return { ...device, linkBytesPerSecond: { toDevice: slower(toDevice), toHost: slower(toHost) } }
}

/** Rates of the network that machines of a rack usually have. */
const usualNetwork: NetworkRates = { bytesPerSecond: 1.25e9, latencySeconds: 2e-5 }

/**
 * The device as a rank has it, where there are several: with the network that is given, or, where
 * the device is of this machine, with the one that was measured here.
 */
const withNetwork = (device: ProfiledModel, objective: Objective, setup: Setup, watching: Watching): ProfiledModel => {
  if (meshOf(objective) === undefined) return device
  const measured = (): NetworkRates | undefined => (typeof setup.device === 'string' ? readNetwork(watching) : undefined)
  return { ...device, network: setup.network ?? measured() ?? usualNetwork }
}

/**
 * The plan of a setup's file, once it is known to be for this graph. Its own peak matters only
 * under its own budget.
 */
const givenPlan = (setup: Setup, graph: Graph): E.Either<Failure, Plan | undefined> => {
  const { model, input, plan, budget } = setup
  return plan === undefined
    ? E.right(undefined)
    : pipe(
        checkPlanFile(graph, input ?? model.input, budget === undefined ? plan : { ...plan, budget: null, peak: Number.MAX_SAFE_INTEGER }),
        E.mapLeft(planFailure(setup))
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

/** A setup with what its step is for, and the graph of its model, which is built once. */
export interface SetupGraph<S extends Setup = Setup> {
  readonly setup: S
  readonly objective: Objective
  readonly source: Source
  /** As the model has it, for the setup's input or its plan's. */
  readonly graph: Graph
  /** What is planned of just this setup and objective, where that was found out before. */
  readonly known?: { readonly setup: Setup; readonly objective: Objective; readonly planned: Planned }
}

/** The input of a plan that can be one; the plan is checked against the graph that is built. */
export const plannedInput = ({ model, plan }: Setup): readonly number[] | undefined =>
  plan === undefined || plan.input.length === 4 ? plan?.input : (model.input ?? plan.input)

/** Builds the graph of a setup, before anything is planned. Fails as `buildRequestGraph` does. */
export const buildSetupGraph = <S extends Setup>(setup: S, objective: Objective, source: Source): E.Either<Failure, SetupGraph<S>> => {
  const input = setup.input ?? plannedInput(setup)
  return pipe(
    buildRequestGraph({ model: setup.model, objective, ...(input === undefined ? {} : { input }) }),
    E.bimap(stagingFailure, (graph) => ({ setup, objective, source, graph }))
  )
}

interface Request extends PlanRequest {
  readonly device: ProfiledModel
}

/**
 * Returns the request to staging for a setup's graph: its device as it was measured, or as `known`,
 * and its limits; who watches is told of the search. Fails where its plan is not one for its graph,
 * and where it was stopped before.
 */
export const planRequest = (
  { setup, objective, source, graph }: SetupGraph,
  { known, ...watching }: Watching & { readonly known?: ProfiledModel } = {}
): E.Either<Failure, Request> =>
  pipe(
    watching.signal?.aborted ? E.left(interrupted) : E.Do,
    E.bind('device', () =>
      pipe(
        known === undefined ? loadDeviceModel(setup, watching) : E.right(known),
        E.map((device) => withNetwork(withBandwidth(device, setup.hostBandwidth), objective, setup, watching))
      )
    ),
    E.bind('given', () => givenPlan(setup, graph)),
    E.map(({ device, given }): Request => ({
      device,
      strategy: setup.plan?.strategy ?? setup.strategy ?? 'auto',
      objective,
      source,
      ...(given === undefined ? {} : { given }),
      ...(setup.exactKernels && { exactKernels: true }),
      ...(setup.placement && { placement: setup.placement }),
      ...throttleSearch(watching),
      ...resolveLimits(setup)
    }))
  )

/** A size as bytes, where plain needs so many. */
export const bytesOfSize = (size: Size, plainBytes: number): number =>
  size.kind === 'bytes' ? size.bytes : bytesOfPlain(size.fraction, plainBytes)

/**
 * A setup whose budgets are bytes: parts of what plain needs as its objective has it, which another
 * way to share the optimizer does not change. Fails as `planRequest` does.
 */
export const withBudgetInBytes = (built: SetupGraph): E.Either<Failure, SetupGraph> => {
  const { plan: _, ...alone } = built.setup
  const { budget, hostBudget } = alone
  if (budget?.kind !== 'ofPlain' && hostBudget?.kind !== 'ofPlain') return E.right(built)
  return pipe(
    planRequest({ ...built, setup: alone }),
    E.map((request) => {
      const plain = plainPeakBytes(built.graph, request)
      const inBytes = (size: Size): Size => ({ kind: 'bytes', bytes: bytesOfSize(size, plain) })
      const budgets = { ...(budget && { budget: inBytes(budget) }), ...(hostBudget && { hostBudget: inBytes(hostBudget) }) }
      return { ...built, setup: { ...built.setup, ...budgets } }
    })
  )
}

/** Stages a setup's graph and verifies the Program. */
export const planNetwork = (built: SetupGraph, watching: Watching = {}): E.Either<Failure, Planned> => {
  const { setup, objective, graph, known } = built
  if (known?.setup === setup && known.objective === objective) return E.right(known.planned)
  const started = performance.now()
  return pipe(
    E.Do,
    E.bind('request', () => planRequest(built, watching)),
    E.bind('staged', ({ request }) => E.mapLeft(planFailure(setup))(stageGraph(graph, request))),
    E.bind('change', ({ staged }) => describeChange(setup, staged)),
    E.bind('planningMilliseconds', () => E.right(performance.now() - started)),
    E.bind('verifiedMilliseconds', ({ staged }) => verifyProgram(staged)),
    E.map(({ request, request: { device }, staged, change, planningMilliseconds, verifiedMilliseconds }) => ({
      staged,
      request,
      device: setup.device,
      math: mathMode(setup.precision),
      threads: device.threads,
      budgetBytes: staged.budget ?? staged.program.peakBytes,
      ...(setup.hostBandwidth === undefined ? {} : { linkBytesPerSecond: setup.hostBandwidth }),
      planningMilliseconds,
      verifiedMilliseconds,
      timeShares: timeShares(staged.program, device),
      predictedMilliseconds: device.milliseconds,
      ...present({ planNotice: setup.planNotice, modelNotice: setup.modelNotice }),
      ...change,
      ...describeGuess(setup, staged)
    }))
  )
}
