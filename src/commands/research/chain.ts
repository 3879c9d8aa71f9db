import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { type Chain, buildChain, computeMilliseconds, leastBytes, peakBytes } from '../../../staging'
import { type Outcome, inputFailure } from '../../failure'
import { checkWritable, writeFileAtomic } from '../../files/atomic-write'
import { checkPaths, namedPaths } from '../../files/paths'
import { libraryFunction } from '../../options/decode-options'
import { type ChainOptions, chainOptions } from '../../option-tables/research-options'
import { checkAddonToPlan } from '../../plans/check-addon'
import { buildSetupGraph, imageNetSource, planRequest } from '../../plans/plan-network'
import { resolveSetup } from '../../plans/resolve-setup'
import { setupReads } from '../../plans/setup-files'
import { trainingObjective } from '../../training/training-objective'
import { chainText } from '../../plans/chain-file'

/** A network as a chain of stages for offloading, with what it needs in bytes. */
export interface ChainReport {
  readonly chain: Chain
  /** M_peak: what a step of the chain needs where nothing is offloaded. */
  readonly peakBytes: number
  /** Bytes that the chain's largest operation needs by itself: with less there is no schedule. */
  readonly leastBytes: number
  /**
   * Parameters, optimizer state and kept gradients, which stand beside the chain in the device's
   * memory.
   */
  readonly residentBytes: number
  /** All forward and backward operations. */
  readonly computeMs: number
}

const checkOut = (out: string | undefined): Outcome<void> => {
  if (out === undefined) return TE.right(undefined)
  return out.endsWith('.json') ? checkWritable(out) : TE.left(inputFailure(`${out}: a chain file is named *.json`))
}

/**
 * The chain of a model's training step, as `offload` takes it: times (milliseconds) and sizes
 * (bytes) of each layer's forward and backward on the device, and the link's bandwidth. Runs
 * nothing; fails with code `input`.
 */
export const chain: (options: ChainOptions) => Outcome<ChainReport> = libraryFunction('chain', chainOptions, (options) =>
  pipe(
    checkAddonToPlan(options),
    TE.chain(() => checkPaths({ reads: setupReads(options), writes: namedPaths('--out', options.out) })),
    TE.chain(() => checkOut(options.out)),
    TE.chainEitherK(() => trainingObjective(options)),
    TE.bindTo('objective'),
    TE.bind('setup', () => resolveSetup(options)),
    TE.chainEitherK(({ setup, objective }) => buildSetupGraph(setup, objective, imageNetSource)),
    TE.bindTo('built'),
    TE.bind('request', ({ built }) => TE.fromEither(planRequest(built))),
    TE.map(({ built: { graph }, request }) => buildChain(graph, request)),
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
