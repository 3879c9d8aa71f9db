import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import {
  type Chain,
  type OffloadStrategy,
  computeMilliseconds,
  leastBytes,
  chooseOffload as offloadChain,
  peakBytes
} from '../../../staging'
import { type Failure, type Outcome, inputFailure } from '../../failure'
import { libraryFunction } from '../../options/decode-options'
import type { DecodedOptions } from '../../options/option'
import { present } from '../../options/present'
import { type OffloadOptions, offloadOptions } from '../../option-tables/research-options'
import type { Size } from '../../options/sizes'
import { stagingFailure } from '../../plans/plan-network'
import { loadChain } from '../../plans/chain-file'

type Options = DecodedOptions<typeof offloadOptions>

/**
 * When a stage's operations and the transfers of its input begin, in milliseconds; null where it is
 * not transferred.
 */
export interface OffloadedStage {
  readonly name: string
  readonly offload: boolean
  readonly forwardMs: number
  readonly backwardMs: number
  readonly offloadMs: number | null
  readonly prefetchMs: number | null
}

/** What a strategy makes of a chain, and its time in milliseconds. */
export interface OffloadReport {
  readonly strategy: OffloadStrategy
  readonly feasible: true
  readonly memoryBytes: number
  /** What the chain needs where nothing goes to the host. */
  readonly peakBytes: number
  /** What its largest operation needs alone. */
  readonly leastBytes: number
  readonly offloadedBytes: number
  readonly makespanMs: number
  /** Time that any schedule in this memory takes at least (Beaumont 2020, Proposition 3). */
  readonly lowerBoundMs: number
  readonly computeMs: number
  /** Makespan over lower bound. */
  readonly relativeMakespan: number
  readonly planningMs: number
  readonly stages: readonly OffloadedStage[]
}

const resolveBytes = (size: Size, chain: Chain): number =>
  size.kind === 'bytes' ? size.bytes : Math.floor(size.fraction * peakBytes(chain))

const report = (chain: Chain, memory: number, { strategy, slots }: Options): E.Either<Failure, OffloadReport> => {
  const started = performance.now()
  return pipe(
    offloadChain({ chain, memory, strategy, ...present({ slots }) }),
    E.bimap(stagingFailure, ({ schedule, lowerBound, offloadedBytes }): OffloadReport => ({
      strategy,
      feasible: true,
      memoryBytes: memory,
      peakBytes: peakBytes(chain),
      leastBytes: leastBytes(chain),
      offloadedBytes,
      makespanMs: schedule.makespan,
      lowerBoundMs: lowerBound,
      computeMs: computeMilliseconds(chain),
      // Below 1 only by rounding.
      relativeMakespan: lowerBound === 0 ? 1 : Math.max(1, schedule.makespan / lowerBound),
      planningMs: performance.now() - started,
      stages: chain.stages.map(({ name }, i) => ({
        name,
        offload: schedule.offload[i]!,
        forwardMs: schedule.forward[i]!,
        backwardMs: schedule.backward[i]!,
        offloadMs: schedule.offloads[i] ?? null,
        prefetchMs: schedule.prefetches[i] ?? null
      }))
    }))
  )
}

const checkSlots = ({ strategy, slots }: Options): E.Either<Failure, void> =>
  strategy === 'dynprog' || slots === undefined
    ? E.right(undefined)
    : E.left(inputFailure(`--slots: strategy ${strategy} divides no memory; leave it out, or take --strategy dynprog`))

/**
 * Which activations of a chain go to the host, and when, so that a training step fits into `memory`
 * and waits little: the strategies of Beaumont et al., "Optimal GPU-CPU offloading strategies for
 * deep neural network training" (Euro-Par 2020). Runs nothing. Fails with code `budget` where an
 * operation alone needs more than `memory` (with what would do), `input` where an option or the
 * chain is wrong.
 */
export const offload: (options: OffloadOptions) => Outcome<OffloadReport> = libraryFunction('offload', offloadOptions, (options) =>
  pipe(
    checkSlots(options),
    E.chain(() => loadChain(options.chain)),
    E.chain((chain) => report(chain, resolveBytes(options.memory, chain), options)),
    TE.fromEither
  )
)
