import * as E from 'fp-ts/Either'
import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import type { Profile } from '../../staging'
import { path } from '../options/codecs'
import type { Outcome } from '../failure'
import { checkPaths, named } from '../files/paths'
import { type ProfileOptions as Run, profileNetwork } from '../plans/measure'
import { trainingObjective } from '../training/objective'
import { answering, optionsOf } from '../options/decode-options'
import { type OptimizerOptions, objectiveOf, optimizerCodecs } from '../options/optimizer-options'
import { type SetupOptions, modelCodec, runnable, setupCodecs, setupOf, watchingCodecs } from '../options/setup-options'
import { setupReads } from '../options/setup-reads'
import { present } from '../options/option-values'

export interface ProfileOptions extends SetupOptions, OptimizerOptions, Pick<Run, 'onKernel' | 'signal'> {
  /** Where a device file (*.json) of this machine's GPU goes, from which these plans are made on any machine. */
  readonly out?: string
}

/** All that is known of the device, where it is kept, and how many kernels this run measured. */
export interface ProfileReport extends Profile {
  readonly path: string
  readonly measured: number
}

const codec = optionsOf<ProfileOptions>('profile', modelCodec, { ...setupCodecs, ...optimizerCodecs, ...watchingCodecs, out: path })

/**
 * Measures the kernels of a model's plans on this machine (milliseconds each) and the link (bytes a second), and keeps them in the
 * user's cache folder, where every later plan finds them. Fails with code `input` (the reference device, or one of a file; `out` of another
 * device than cuda) or `interrupted`.
 */
export const profile = answering(codec, (options): Outcome<ProfileReport> => {
  const { onKernel, signal, out } = options
  return pipe(
    TE.Do,
    TE.chainFirst(() => checkPaths({ reads: setupReads(options), writes: named('--out', out) })),
    TE.bind('objective', () => TE.fromEither(objectiveOf(options))),
    TE.bind('setup', () => TE.fromEither(E.chain(runnable)(setupOf(options)))),
    TE.chain(({ objective, setup }) =>
      profileNetwork({
        ...setup,
        objective: trainingObjective(objective),
        ...present({ out, onKernel, signal })
      })
    ),
    TE.map(({ profile, path, measured }) => ({ ...profile, path, measured }))
  )
})
