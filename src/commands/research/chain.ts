import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type Chain, chainOf, computeMilliseconds, leastBytes, peakBytes } from '../../../staging'
import { chainText } from './chain-file'
import { path } from '../../options/codecs'
import { type Outcome, inputFailure } from '../../failure'
import { checkPaths, named } from '../../files/paths'
import { imageSource, stageRequest, stagingFailure } from '../../plans/plan-network'
import { trainingObjective } from '../../training/objective'
import { checkWritable, writeFileAtomic } from '../../files/atomic-write'
import { answering, optionsOf } from '../../options/decode-options'
import { type OptimizerOptions, objectiveOf, optimizerCodecs } from '../../options/optimizer-options'
import { type SetupOptions, modelCodec, setupCodecs, setupOf } from '../../options/setup-options'
import { setupReads } from '../../options/setup-reads'

export interface ChainOptions
  extends OptimizerOptions, Omit<SetupOptions, 'budget' | 'hostBudget' | 'strategy' | 'plan' | 'exactKernels' | 'measure' | 'seed'> {
  /** Where the chain goes: *.json. */
  readonly out?: string
}

export interface ChainReport {
  readonly chain: Chain
  /** M_peak: what a step of the chain needs where nothing is offloaded. */
  readonly peakBytes: number
  /** What its largest operation needs by itself: with less there is no schedule. */
  readonly leastBytes: number
  /** Parameters, optimizer state and kept gradients, which stand beside the chain in the device's memory. */
  readonly residentBytes: number
  /** All forward and backward operations. */
  readonly computeMs: number
}

const checkOut = (out: string | undefined): Outcome<void> => {
  if (out === undefined) return TE.right(undefined)
  return out.endsWith('.json') ? checkWritable(out) : TE.left(inputFailure(`${out}: a chain file is named *.json`))
}

const { budget: _, hostBudget: _h, strategy: _s, plan: _p, exactKernels: _k, measure: _m, seed: _r, ...codecs } = setupCodecs

const codec = optionsOf<ChainOptions>('chain', modelCodec, { ...codecs, ...optimizerCodecs, out: path })

/**
 * The chain of a model's training step, as `offload` takes it: times (milliseconds) and sizes (bytes) of each layer's forward and backward
 * on the device, and the link's bandwidth. Runs nothing; fails with code `input`.
 */
export const chain = answering(codec, (options): Outcome<ChainReport> =>
  pipe(
    TE.Do,
    TE.chainFirst(() => checkPaths({ reads: setupReads(options), writes: named('--out', options.out) })),
    TE.chainFirst(() => checkOut(options.out)),
    TE.bind('objective', () => TE.fromEither(objectiveOf(options))),
    TE.bind('setup', () => TE.fromEither(setupOf(options))),
    TE.chainEitherK(({ setup, objective }) => stageRequest(setup, trainingObjective(objective), imageSource)),
    TE.chainEitherK((request) => E.mapLeft(stagingFailure)(chainOf(request))),
    TE.chainFirst(({ chain }) =>
      options.out === undefined ? TE.right(undefined) : writeFileAtomic(options.out, () => [Buffer.from(chainText(chain))])
    ),
    TE.map(({ chain, residentBytes }) => ({
      chain,
      peakBytes: peakBytes(chain),
      leastBytes: leastBytes(chain),
      residentBytes,
      computeMs: computeMilliseconds(chain)
    }))
  )
)
