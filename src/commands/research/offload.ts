import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import {
  type Chain,
  type OffloadStrategy,
  computeMilliseconds,
  leastBytes,
  offload as offloadStaging,
  offloadStrategies,
  peakBytes
} from '../../../staging'
import { loadChain } from './chain-file'
import { objectOr, oneOf, path, saying, whole } from '../../options/codecs'
import { type Failure, type Outcome, inputFailure } from '../../failure'
import { stagingFailure } from '../../plans/plan-network'
import { type Size, parseSize } from '../../options/sizes'
import { answering, optionsOf } from '../../options/decode-options'
import { orText, present, size } from '../../options/option-values'
import { mostSlots } from '../../options/limits'

export interface OffloadOptions {
  /** A chain, or the path of a JSON file that holds one. */
  readonly chain: Chain | string
  /** Bytes on the device for activations, their gradients and workspaces, or a text: '8GiB', '50%' of what the chain needs without offloading. */
  readonly memory: number | string | Size
  /** `dynprog` where absent. */
  readonly strategy?: OffloadStrategy
  /** Into how many parts `dynprog` divides the memory; 500 where absent. */
  readonly slots?: number
}

/** When a stage's operations and the transfers of its input begin, in milliseconds; null where it is not transferred. */
export interface OffloadedStage {
  readonly name: string
  readonly offload: boolean
  readonly forwardMs: number
  readonly backwardMs: number
  readonly offloadMs: number | null
  readonly prefetchMs: number | null
}

export interface OffloadReport {
  readonly strategy: OffloadStrategy
  readonly feasible: true
  readonly memoryBytes: number
  readonly peakBytes: number
  readonly leastBytes: number
  readonly offloadedBytes: number
  readonly makespanMs: number
  /** Of any schedule in this memory (Proposition 3). */
  readonly lowerBoundMs: number
  readonly computeMs: number
  /** Makespan over lower bound. */
  readonly relativeMakespan: number
  readonly planningMs: number
  readonly stages: readonly OffloadedStage[]
}

const bytesOf = (size: Size, chain: Chain): number => (size.kind === 'bytes' ? size.bytes : Math.floor(size.fraction * peakBytes(chain)))

const report = (chain: Chain, memory: number, { strategy = 'dynprog', slots }: OffloadOptions): E.Either<Failure, OffloadReport> => {
  const started = performance.now()
  return pipe(
    offloadStaging({ chain, memory, strategy, ...present({ slots }) }),
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

const codec = optionsOf<OffloadOptions>(
  'offload',
  {
    chain: objectOr<Chain, string>(
      'a chain, or the path of one',
      saying('a chain', (value) => loadChain(value as Chain)),
      path
    ),
    memory: size
  },
  { strategy: oneOf(...offloadStrategies), slots: whole(1, mostSlots) }
)

const checkSlots = ({ strategy = 'dynprog', slots }: OffloadOptions): E.Either<Failure, void> =>
  strategy === 'dynprog' || slots === undefined
    ? E.right(undefined)
    : E.left(inputFailure(`--slots: strategy ${strategy} divides no memory; leave it out, or take --strategy dynprog`))

/**
 * Which activations of a chain go to the host, and when, so that a training step fits into `memory` and waits little: the strategies of
 * Beaumont et al., "Optimal GPU-CPU offloading strategies for deep neural network training" (Euro-Par 2020). Runs nothing. Fails with code
 * `budget` where an operation alone needs more than `memory` (with what would do), `input` where an option or the chain is wrong.
 */
export const offload = answering(codec, (options): Outcome<OffloadReport> =>
  pipe(
    checkSlots(options),
    E.chain(() => orText('memory', typeof options.memory === 'number' ? `${options.memory}` : options.memory, parseSize)),
    E.bindTo('memory'),
    E.bind('chain', () => loadChain(options.chain)),
    E.chain(({ memory, chain }) => report(chain, bytesOf(memory, chain), options)),
    TE.fromEither
  )
)
