import * as TE from 'fp-ts/TaskEither'
import { pipe } from 'fp-ts/function'
import { profileNetwork } from '../profile'
import { type CommandResult, interruptible } from './command-result'
import { type OptimizerOptions, type SetupOptions, optimizerOf, setupOf } from './options'

export const profileCommand = (name: string, options: SetupOptions & OptimizerOptions): CommandResult =>
  pipe(
    TE.Do,
    TE.bind('optimizer', () => TE.fromEither(optimizerOf(options))),
    TE.bind('setup', () => TE.fromEither(setupOf(name, options))),
    TE.chain(({ optimizer, setup }) =>
      interruptible((signal) =>
        pipe(
          profileNetwork({
            ...setup,
            objective: { kind: 'train', optimizer },
            onKernel: (done, total, { kind }) =>
              done % 20 === 0 || done === total ? void process.stderr.write(`${done}/${total} kernels, ${kind}\n`) : undefined,
            signal
          }),
          TE.map(({ profile, path, measured }) => ({
            json: { ...profile, path, measured },
            text: `measured ${measured} kernels, ${profile.kernels.length} in all; the link moves ${(profile.linkBytesPerSecond.toDevice / 1e9).toFixed(1)} GB/s; ${path}`
          }))
        )
      )
    )
  )
