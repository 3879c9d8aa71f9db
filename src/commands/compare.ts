import { setImmediate } from 'node:timers/promises'
import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type StageChoice, type PlanRequest, type Staged, type StrategyName, productFlops, stageEach } from '../../staging'
import type { Failure, Outcome } from '../failure'
import { type CompareOptions, compareOptions } from '../option-tables/command-options'
import { libraryFunction } from '../options/decode-options'
import { checkAddonToPlan } from '../plans/check-addon'
import { imageSource, bytesOfSize, planRequest, stagingFailure } from '../plans/plan-network'
import { prepareGraph } from '../plans/prepare-graph'
import { launchCounts, movedBytes } from '../plans/program-statistics'
import { pickWatching } from '../plans/watching'
import { resolveSetup } from '../plans/resolve-setup'
import { comparisonPage } from '../reports/comparison-page'
import { checkReport, writeReport } from '../reports/write-report'
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
   * Operations of convolutions and linear layers that run forward again, or twice where tiles
   * overlap.
   */
  readonly recomputedFlops: number | null
}

const forwardFlops = ({ program: { step, kernels } }: Staged): number =>
  [...launchCounts(step)].reduce((sum, [index, count]) => {
    const kernel = kernels[index]!
    return kernel.kind === 'convolutionForward' || kernel.kind === 'linearForward' ? sum + count * productFlops(kernel) : sum
  }, 0)

const nothing = {
  predictedStepMs: null,
  lowerBoundMs: null,
  peakDeviceBytes: null,
  peakHostBytes: null,
  movedBytes: null,
  recomputedFlops: null
} as const

const makeRow = (strategy: StrategyName, budgetBytes: number, staged: Staged, plainFlops: number): CompareRow => {
  const { stepMilliseconds, lowerBoundMilliseconds, peakDeviceBytes, peakHostBytes } = staged.predicted
  return {
    strategy,
    budgetBytes,
    feasible: true,
    predictedStepMs: stepMilliseconds,
    lowerBoundMs: lowerBoundMilliseconds,
    peakDeviceBytes,
    peakHostBytes,
    movedBytes: movedBytes(staged.program.step),
    recomputedFlops: forwardFlops(staged) - plainFlops
  }
}

/** Returns the bytes of a described device's memory, which bounds every budget. */
const maxBytes = ({ budget }: PlanRequest): number => (budget !== undefined && 'bytes' in budget ? budget.bytes : Infinity)

/** A request without limits on the device. */
const withoutLimits = ({ budget: _, memory: _m, strategy: _s, ...request }: PlanRequest): Parameters<typeof stageEach>[1] => request

const compareRow = (
  stageBy: StageChoice,
  strategy: StrategyName,
  budgetBytes: number,
  deviceBytes: number,
  plainFlops: number
): E.Either<Failure, CompareRow> =>
  pipe(
    stageBy({ strategy, budget: { bytes: Math.min(budgetBytes, deviceBytes) } }),
    E.map((staged) => makeRow(strategy, budgetBytes, staged, plainFlops)),
    E.orElse((error) =>
      error.code === 'budget' ? E.right({ strategy, budgetBytes, feasible: false, ...nothing }) : E.left(stagingFailure(error))
    )
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
      TE.chain(() => checkReport(report)),
      TE.chainEitherK(() => trainingObjective(options)),
      TE.bindTo('objective'),
      TE.bind('setup', () => resolveSetup(options)),
      TE.bind('built', ({ setup, objective }) => prepareGraph(setup, objective, imageSource, options)),
      TE.bind('request', ({ built }) => TE.fromEither(planRequest(built, pickWatching(options)))),
      TE.let('stageBy', ({ built: { graph }, request }) => stageEach(graph, withoutLimits(request))),
      TE.bind('plain', ({ stageBy }) => TE.fromEither(E.mapLeft(stagingFailure)(stageBy({ strategy: 'plain' })))),
      TE.bind('rows', ({ request, stageBy, plain }) => {
        const { plainPeakBytes } = plain.predicted
        const plainFlops = forwardFlops(plain)
        return compareRows(
          strategies.flatMap((strategy) =>
            budgets.map((size) => () => compareRow(stageBy, strategy, bytesOfSize(size, plainPeakBytes), maxBytes(request), plainFlops))
          ),
          options.signal
        )
      }),
      TE.chainFirst(({ rows, plain: { graph } }) => writeReport(report, () => comparisonPage(rows, graph.model, graph.input))),
      TE.map(({ rows }) => ({ rows }))
    )
)
