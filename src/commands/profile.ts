import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { Profile } from '../../staging'
import { type Failure, type Outcome, inputFailure } from '../failure'
import { checkWritable } from '../files/atomic-write'
import { checkPaths, namedPaths } from '../files/paths'
import { type ProfileOptions, profileOptions } from '../option-tables/command-options'
import { libraryFunction } from '../options/decode-options'
import type { DecodedOptions } from '../options/option'
import { checkAddonToRun } from '../plans/check-addon'
import { measureModel } from '../plans/measure-model'
import { resolveSetup, requireLocalDevice } from '../plans/resolve-setup'
import type { RunnableSetup } from '../plans/setup'
import { setupReads } from '../plans/setup-files'
import { pickWatching } from '../plans/watching'
import { type NetworkReport, profileNetwork } from './profile-network'
import { trainingObjective } from '../training/training-objective'

/**
 * All that is known of the device, where it is kept, how many kernels this run measured, and
 * whether the time was enough for all that were wanted.
 */
export interface ProfileReport extends Profile {
  readonly path: string
  readonly measured: number
  readonly isComplete: boolean
}

type Options = Omit<DecodedOptions<typeof profileOptions>, 'network' | 'model'> & {
  readonly model: NonNullable<DecodedOptions<typeof profileOptions>['model']>
}

const checkOut = ({ out }: Options, { device }: RunnableSetup): Outcome<void> => {
  const check = (): E.Either<Failure, void> => {
    if (out !== undefined && device !== 'cuda')
      return E.left(inputFailure(`--out: what the ${device} device answers is not recorded; take --device cuda, or leave --out out`))
    return out === undefined || out.endsWith('.json')
      ? E.right(undefined)
      : E.left(inputFailure(`--out: ${out}: a device file is named *.json`))
  }
  return pipe(
    TE.fromEither(check()),
    TE.chain(() => (out === undefined ? TE.right(undefined) : checkWritable(out)))
  )
}

const profileModel = (options: Options): Outcome<ProfileReport> =>
  pipe(
    checkAddonToRun(options),
    TE.chain(() => checkPaths({ reads: setupReads(options), writes: namedPaths('--out', options.out) })),
    TE.chainEitherK(() => trainingObjective(options)),
    TE.bindTo('objective'),
    TE.bind('setup', () => pipe(resolveSetup(options), TE.chainEitherK(requireLocalDevice))),
    TE.chainFirst(({ setup }) => checkOut(options, setup)),
    TE.chain(({ setup, objective }) =>
      measureModel({ setup, objective, out: options.out, isAnew: options.again, ...pickWatching(options) })
    ),
    TE.map(({ profile, ...found }) => ({ ...profile, ...found }))
  )

/** The kernels of a model, or the network between ranks. */
interface ProfileFunction {
  (options: { readonly network: true }): Outcome<NetworkReport>
  (options: ProfileOptions): Outcome<ProfileReport>
}

/**
 * Measures the kernels of a model's plans on this machine (milliseconds each) and the link (bytes a
 * second) for at most 90 seconds, those first that matter most: of `plain`, and of the strategy
 * under the budget, or under usual ones. Keeps them in the user's cache folder, where every later
 * plan finds them. Fails with code `input` (the reference device, or one of a file; `out` of
 * another device than cuda) or `interrupted`. With `network`, and no model, measures the network
 * between the ranks that a launcher of MPI started instead, for plans for ranks.
 */
export const profile = libraryFunction(
  'profile',
  profileOptions,
  ({ network, model, ...options }): Outcome<ProfileReport | NetworkReport> => {
    if (network === true)
      return model === undefined ? profileNetwork() : TE.left(inputFailure('--network measures no model: leave the model out'))
    return model === undefined
      ? TE.left(inputFailure('model is missing: give one whose kernels are measured, or --network under mpirun'))
      : profileModel({ ...options, model })
  }
) as ProfileFunction
