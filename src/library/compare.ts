import { setImmediate } from 'node:timers/promises'
import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type StageRequest, type Staged, type StrategyName, productFlops, stage, strategyNames } from '../../staging'
import { shown } from '../../staging/decoding/decode'
import { abortSignal, decoding, listOf } from '../codecs'
import { launchCounts, movedBytes } from '../device'
import type { Failure, Outcome } from '../failure'
import { imageSource, stageRequest, stagingFailure } from '../planning'
import { type Size, parseSize } from '../sizes'
import { trainingObjective } from '../training/objective'
import { answering, optionsOf } from './answering'
import { type OptimizerOptions, objectiveOf, optimizerCodecs } from './objective'
import { type SetupOptions, modelCodec, setupCodecs, setupOf } from './setup'
import { orText, size } from './values'
import { mostBudgets } from '../limits'

export interface CompareOptions extends Omit<SetupOptions, 'budget' | 'strategy' | 'plan' | 'measure' | 'seed'>, OptimizerOptions {
  /** As `budget` elsewhere: '20%', '1GiB', bytes. */
  readonly budgets: readonly (string | number | Size)[]
  /** All where absent. */
  readonly strategies?: readonly StrategyName[]
  /** Aborting stops after the current row. */
  readonly signal?: AbortSignal
}

export interface CompareRow {
  readonly strategy: StrategyName
  readonly budgetBytes: number
  readonly feasible: boolean
  /** By the simulator; null, as all that follow, where nothing fits. */
  readonly predictedStepMs: number | null
  readonly lowerBoundMs: number | null
  readonly peakDeviceBytes: number | null
  readonly peakHostBytes: number | null
  /** Between device and host in a step, both ways. */
  readonly movedBytes: number | null
  /** Of convolutions and linear layers run forward again, or twice where tiles overlap. */
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

const rowOf = (strategy: StrategyName, budgetBytes: number, staged: Staged, plainFlops: number): CompareRow => {
  const { stepMilliseconds, lowerBoundMilliseconds, peakDeviceBytes, peakHostBytes } = staged.plan.predicted
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

/** A described device's memory, which bounds every budget. */
const mostBytes = ({ budget }: StageRequest): number => (budget !== undefined && 'bytes' in budget ? budget.bytes : Infinity)

const compareRow = (
  request: StageRequest,
  strategy: StrategyName,
  budgetBytes: number,
  plainFlops: number
): E.Either<Failure, CompareRow> => {
  const { memory: _, ...unlimited } = request
  return pipe(
    stage({ ...unlimited, strategy, budget: { bytes: Math.min(budgetBytes, mostBytes(request)) } }),
    E.map((staged) => rowOf(strategy, budgetBytes, staged, plainFlops)),
    E.orElse((error) =>
      error.code === 'budget' ? E.right({ strategy, budgetBytes, feasible: false, ...nothing }) : E.left(stagingFailure(error))
    )
  )
}

const sizes = (budgets: CompareOptions['budgets']): E.Either<Failure, readonly Size[]> =>
  E.traverseArray((one: CompareOptions['budgets'][number]) => orText('budgets', typeof one === 'number' ? `${one}` : one, parseSize))(
    budgets
  )

/** A list of strategies is checked as one, so that its sentence names the strategy. */
const strategiesCodec = decoding('a list of strategies', (value): E.Either<string, readonly StrategyName[]> => {
  if (!Array.isArray(value) || value.length === 0) return E.left(`give a list of strategies, some of ${strategyNames.join(', ')}`)
  const unknown: unknown = value.find((name) => !strategyNames.includes(name))
  return unknown === undefined
    ? E.right(value)
    : E.left(`there is no strategy ${typeof unknown === 'string' ? unknown : shown(unknown)}; take some of ${strategyNames.join(', ')}`)
})

const { budget: _, strategy: _s, plan: _p, measure: _m, seed: _r, ...codecs } = setupCodecs

const codec = optionsOf<CompareOptions>(
  'compare',
  { ...modelCodec, budgets: listOf(size, 1, mostBudgets) },
  { ...codecs, ...optimizerCodecs, strategies: strategiesCodec, signal: abortSignal }
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
 * Every strategy within every budget, by the simulator; runs nothing. A described device has no more than its memory, whatever the budget.
 * Fails with code `input` where an option or the model is wrong, or `interrupted`.
 */
export const compare = answering(
  codec,
  ({ budgets, strategies = strategyNames, signal, ...options }): Outcome<{ readonly rows: readonly CompareRow[] }> =>
    pipe(
      TE.Do,
      TE.bind('sizes', () => TE.fromEither(sizes(budgets))),
      TE.bind('objective', () => pipe(TE.fromEither(objectiveOf(options)), TE.map(trainingObjective))),
      TE.bind('setup', () => TE.fromEither(setupOf(options))),
      TE.bind('request', ({ setup, objective }) => TE.fromEither(stageRequest(setup, objective, imageSource))),
      TE.bind('plain', ({ request: { budget: _, memory: _m, ...unlimited } }) =>
        TE.fromEither(E.mapLeft(stagingFailure)(stage({ ...unlimited, strategy: 'plain' })))
      ),
      TE.chain(({ sizes, request, plain }) => {
        const { plainPeakBytes } = plain.plan.predicted
        const budgetOf = (size: Size): number => (size.kind === 'bytes' ? size.bytes : Math.floor(size.fraction * plainPeakBytes))
        const plainFlops = forwardFlops(plain)
        return compareRows(
          strategies.flatMap((strategy) => sizes.map((size) => () => compareRow(request, strategy, budgetOf(size), plainFlops))),
          signal
        )
      }),
      TE.map((rows) => ({ rows }))
    )
)
