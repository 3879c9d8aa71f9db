import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type BenchOptions as Run, type BenchReport, bench as runBench } from '../running/bench'
import type { Outcome } from '../failure'
import { watchingOf } from '../plans/measure'
import { callback, flag, whole } from '../options/codecs'
import { answering, optionsOf } from '../options/decode-options'
import { type OptimizerOptions, objectiveOf, optimizerCodecs } from '../options/optimizer-options'
import { type SetupOptions, modelCodec, runnable, setupCodecs, setupOf, watchingCodecs } from '../options/setup-options'
import { mostSteps } from '../options/limits'

export interface BenchOptions extends SetupOptions, OptimizerOptions, Pick<Run, 'onPlan' | 'onStep' | 'onKernel' | 'signal'> {
  /** 3 where absent. */
  readonly steps?: number
  /** Whether to measure where the time of the fastest step went, kernel by kernel. */
  readonly breakdown?: boolean
}

const codec = optionsOf<BenchOptions>('bench', modelCodec, {
  ...setupCodecs,
  ...optimizerCodecs,
  ...watchingCodecs,
  onPlan: callback(),
  onStep: callback(),
  steps: whole(1, mostSteps),
  breakdown: flag
})

/**
 * Times real training steps, at a learning rate of zero, on noise: milliseconds of each, and the bytes that were touched beside those
 * that were predicted. Fails with code `input`, `budget` or `interrupted` (by `signal`).
 */
export const bench = answering(codec, (options): Outcome<BenchReport> => {
  const { steps = 3, seed = 0, breakdown = false, onPlan, onStep } = options
  return pipe(
    TE.Do,
    TE.bind('objective', () => TE.fromEither(objectiveOf(options))),
    TE.bind('setup', () => TE.fromEither(E.chain(runnable)(setupOf(options)))),
    TE.chain(({ objective, setup }) =>
      runBench({
        ...setup,
        ...objective,
        steps,
        seed,
        breakdown,
        ...(onPlan && { onPlan }),
        ...(onStep && { onStep }),
        ...watchingOf(options)
      })
    )
  )
})
