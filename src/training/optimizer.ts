import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import * as t from 'io-ts'
import type { Optimizer } from '../../staging'

const Share = t.refinement(t.number, (value) => value >= 0 && value < 1, 'number in [0, 1)')
const NotNegative = t.refinement(t.number, (value) => value >= 0 && Number.isFinite(value), 'number from 0 upwards')

const OptimizerOptions = t.intersection([
  t.type({ optimizer: t.keyof({ sgd: null, adam: null, adamw: null }) }),
  t.partial({ momentum: Share, weightDecay: NotNegative })
])
/** As the command line and the library take it; what is absent is as in torch.optim, save that sgd's momentum is 0.9. */
export type OptimizerOptions = t.TypeOf<typeof OptimizerOptions>

const adamDefaults = { beta1: 0.9, beta2: 0.999, epsilon: 1e-8 } as const

/** Checks the options and fills in the defaults; otherwise a sentence. */
export const decodeOptimizer = (options: unknown): E.Either<string, Optimizer> =>
  pipe(
    OptimizerOptions.decode(options),
    E.mapLeft(([fault]) => {
      const field = fault?.context.map(({ key }) => key).findLast((key) => key !== '' && Number.isNaN(Number(key))) ?? 'optimizer'
      return `optimizer: ${field} is ${String(fault?.value)}; optimizer is sgd, adam or adamw, momentum in [0, 1), weight decay from 0 upwards`
    }),
    E.chain(({ optimizer, momentum, weightDecay }): E.Either<string, Optimizer> => {
      if (optimizer === 'sgd') return E.right({ kind: 'sgd', momentum: momentum ?? 0.9, weightDecay: weightDecay ?? 0 })
      if (momentum !== undefined) return E.left(`optimizer: momentum belongs to sgd; ${optimizer} has moments of its own`)
      return E.right({ kind: optimizer, ...adamDefaults, weightDecay: weightDecay ?? (optimizer === 'adamw' ? 0.01 : 0) })
    })
  )

/** Where no learning rate is given. */
export const defaultLearningRate = (kind: Optimizer['kind']): number => (kind === 'sgd' ? 0.01 : 0.001)
