import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { recordGpu } from '../../native'
import type { Objective, Profile } from '../../staging'
import { type Outcome, deviceFailure } from '../failure'
import { writeFileAtomic } from '../files/atomic-write'
import type { Size } from '../options/sizes'
import { deviceChoice, loadDeviceModel } from './device'
import { type Measurements, type TimeLimit, measure } from './measure-kernels'
import { type PlansToMeasure, missingKernels, missingSizes, missingSizesWithTiles } from './missing-kernels'
import { buildSetupGraph, imageNetSource } from './plan-network'
import type { RunnableSetup } from './setup'
import { launchedKernels } from './wanted-kernels'
import type { Watching } from './watching'

/**
 * Launches up to a second, of what a plan may spend many seconds in. 13 of the 90 seconds are left
 * for plans and for what takes longer than expected.
 */
const profileLimit: TimeLimit = { milliseconds: 77_000, longestLaunch: { convolution: 1000, other: 200 } }

/** A model on a device, whose kernels are to be measured. */
interface MeasuredModel extends Watching {
  readonly setup: RunnableSetup
  readonly objective: Objective
  /**
   * A *.json file to write of the GPU, from which the same plans are made elsewhere; of cuda alone.
   */
  readonly out: string | undefined
  /** Whether what was measured before is measured anew. */
  readonly isAnew: boolean
}

/**
 * Budgets whose plans give the tile sizes to measure, where none is asked for, the smallest first.
 */
const usualBudgets: readonly Size[] = [0.15, 0.2, 1 / 3, 0.5].map((fraction) => ({ kind: 'ofPlain', fraction }))

/** A file of this machine's GPU that holds every answer that these plans ask for. */
const writeDeviceFile = (out: string, wanted: PlansToMeasure, profile: Profile): Outcome<void> => {
  const setup = wanted.setups[0]!
  return pipe(
    loadDeviceModel(setup, { measured: profile }),
    E.chain((device) => launchedKernels(wanted, device)),
    E.chain(() => E.mapLeft(deviceFailure)(recordGpu(deviceChoice(setup).precision, profile))),
    TE.fromEither,
    TE.chain((file) => writeFileAtomic(out, () => [Buffer.from(`${JSON.stringify(file)}\n`)]))
  )
}

/**
 * Measures the kernels of a model's plans (of `plain`, and of the strategy under the budget or
 * under usual ones) and the link, for at most 90 seconds and the most important first, and keeps
 * the times for every later plan on this machine with this library and number of threads. Where
 * Winograd is not refused, plans under the smallest budgets that do without it are sampled too:
 * larger kernels take times as theirs.
 */
export const measureModel = ({ setup, objective, out, isAnew, ...watching }: MeasuredModel): Outcome<Measurements> => {
  const { budget, ...unlimited } = setup
  const plain: RunnableSetup = { ...unlimited, strategy: 'plain' }
  const limited = (budget === undefined ? usualBudgets : [budget]).map((budget): RunnableSetup => ({ ...unlimited, budget }))
  const sampled =
    setup.exactKernels || setup.plan !== undefined ? [] : limited.slice(0, 2).map((one): RunnableSetup => ({ ...one, exactKernels: true }))
  const { longestLaunch } = profileLimit
  return pipe(
    TE.fromEither(buildSetupGraph(setup, objective, imageNetSource)),
    TE.map((built): PlansToMeasure => ({ setups: [plain, ...limited], built, longestLaunch, ...watching })),
    TE.chain((wanted) =>
      pipe(
        measure({
          setup,
          rounds: [
            ...(setup.plan === undefined ? [[missingSizesWithTiles({ ...wanted, setups: [plain] }), 1] as const] : []),
            [missingSizes({ ...wanted, setups: [...wanted.setups, ...sampled] }), 3],
            [missingKernels(wanted), 6]
          ],
          limit: profileLimit,
          isAnew,
          ...watching
        }),
        TE.chainFirst(({ profile }) => (out === undefined ? TE.right(undefined) : writeDeviceFile(out, wanted, profile)))
      )
    )
  )
}
