import { setImmediate } from 'node:timers/promises'
import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import {
  type Decision,
  type Kernel,
  type PlanRequest,
  type Program,
  type StrategyName,
  plainPeakBytes,
  productFlops,
  stageDecision
} from '../../staging'
import { memoizePerObject } from '../../staging/memoize'
import type { Failure, Outcome } from '../failure'
import { type CompareOptions, compareOptions } from '../option-tables/command-options'
import { libraryFunction } from '../options/decode-options'
import { checkAddonToPlan } from '../plans/check-addon'
import { type DecideInTurn, decideOnRanks } from '../plans/decide-on-ranks'
import { type Mesh, meshOf, ranksOfGroup } from '../plans/mesh'
import { bytesOfSize, imageNetSource, planRequest } from '../plans/plan-network'
import { prepareGraph } from '../plans/prepare-graph'
import { launchCounts, movedBytes } from '../plans/program-statistics'
import { pickWatching } from '../plans/watching'
import { resolveSetup } from '../plans/resolve-setup'
import { comparisonPage } from '../reports/comparison-page'
import { checkReports, writeReport } from '../reports/write-report'
import { trainingObjective } from '../training/training-objective'

/** What one strategy plans under one budget: bytes and predicted milliseconds. */
export interface CompareRow {
  readonly strategy: StrategyName
  readonly budgetBytes: number
  readonly feasible: boolean
  /**
   * Milliseconds of a step, predicted by the simulator; null, as all that follow, where nothing
   * fits.
   */
  readonly predictedStepMs: number | null
  readonly lowerBoundMs: number | null
  readonly peakDeviceBytes: number | null
  readonly peakHostBytes: number | null
  /** Bytes that a step moves between device and host, both ways. */
  readonly movedBytes: number | null
  /**
   * Operations of convolutions and linear layers that run forward again, or twice where tiles or
   * the rows of ranks overlap: of a micro-batch, and all ranks that share it, as many each as the
   * one with the most.
   */
  readonly recomputedFlops: number | null
  /** How ranks share the step by this plan; null where there are none too. */
  readonly mesh: Mesh | null
}

const forwardKinds: ReadonlySet<Kernel['kind']> = new Set(['convolutionForward', 'normalisedConvolutionForward', 'linearForward'])

const forwardFlops = ({ step, kernels }: Program): number =>
  [...launchCounts(step)].reduce((sum, [index, count]) => {
    const kernel = kernels[index]!
    return forwardKinds.has(kernel.kind) ? sum + count * productFlops(kernel) : sum
  }, 0)

/** Of a plain step, once for all rows that are compared with it. */
const plainFlops = memoizePerObject(
  (_: Decision['plain']) => '',
  (plain) => forwardFlops(plain.program())
)

const nothing = {
  predictedStepMs: null,
  lowerBoundMs: null,
  peakDeviceBytes: null,
  peakHostBytes: null,
  movedBytes: null,
  recomputedFlops: null,
  mesh: null
} as const

const makeRow = (strategy: StrategyName, budgetBytes: number, decision: Decision): CompareRow => {
  const { predicted, program } = stageDecision({ strategy, device: decision.device })(decision)
  const { stepMilliseconds, lowerBoundMilliseconds, peakDeviceBytes, peakHostBytes } = predicted
  const mesh = meshOf(decision.graph.objective) ?? null
  return {
    strategy,
    budgetBytes,
    feasible: true,
    predictedStepMs: stepMilliseconds,
    lowerBoundMs: lowerBoundMilliseconds,
    peakDeviceBytes,
    peakHostBytes,
    movedBytes: movedBytes(program.step),
    recomputedFlops: (mesh === null ? 1 : ranksOfGroup(mesh)) * forwardFlops(program) - plainFlops(decision.plain),
    mesh
  }
}

/** Returns the bytes of a described device's memory, which bounds every budget. */
const maxBytes = ({ budget }: PlanRequest): number => (budget !== undefined && 'bytes' in budget ? budget.bytes : Infinity)

const compareRow = (
  decide: DecideInTurn,
  strategy: StrategyName,
  budgetBytes: number,
  deviceBytes: number
): E.Either<Failure, CompareRow> =>
  pipe(
    decide({ strategy, budget: { bytes: Math.min(budgetBytes, deviceBytes) } }),
    E.map((decision) => makeRow(strategy, budgetBytes, decision)),
    E.orElse((failure) => (failure.code === 'budget' ? E.right({ strategy, budgetBytes, feasible: false, ...nothing }) : E.left(failure)))
  )

/** Row by row; an interrupt is heard before each. */
const compareRows = (
  rows: readonly (() => E.Either<Failure, CompareRow>)[],
  signal: AbortSignal | undefined
): Outcome<readonly CompareRow[]> =>
  pipe(
    rows.map((row, done): Outcome<CompareRow> => async () => {
      await setImmediate()
      return signal?.aborted ? E.left({ code: 'interrupted', message: `interrupted after ${done} of ${rows.length} rows` }) : row()
    }),
    TE.sequenceSeqArray
  )

/**
 * Every strategy within every budget, by the simulator; runs no step. A described device has no
 * more than its memory, whatever the budget. Fails with code `input` where an option or the model
 * is wrong, or `interrupted`.
 */
export const compare: (options: CompareOptions) => Outcome<{ readonly rows: readonly CompareRow[] }> = libraryFunction(
  'compare',
  compareOptions,
  ({ budgets, strategies, report, ...options }) =>
    pipe(
      checkAddonToPlan(options),
      TE.chain(() => checkReports({ report })),
      TE.chainEitherK(() => trainingObjective(options)),
      TE.bindTo('objective'),
      TE.bind('setup', () => resolveSetup(options)),
      TE.bind('built', ({ setup, objective }) => prepareGraph(setup, objective, imageNetSource, options)),
      TE.bind('request', ({ built }) => TE.fromEither(planRequest(built, pickWatching(options)))),
      // Every row is what `plan` would find: of ranks by the mesh that is the fastest for it.
      TE.let('decide', ({ built, objective, request }) =>
        decideOnRanks(built, objective, options, { ...pickWatching(options), known: request.device })
      ),
      TE.bind('rows', ({ built: { graph }, request, decide }) => {
        const plainBytes = plainPeakBytes(graph, request)
        const bytes = new Set(budgets.map((size) => bytesOfSize(size, plainBytes)))
        return compareRows(
          strategies.flatMap((strategy) => [...bytes].map((budget) => () => compareRow(decide, strategy, budget, maxBytes(request)))),
          options.signal
        )
      }),
      TE.chainFirst(({ rows, built: { graph } }) => writeReport(report, () => comparisonPage(rows, graph.model, graph.input))),
      TE.map(({ rows }) => ({ rows }))
    )
)
