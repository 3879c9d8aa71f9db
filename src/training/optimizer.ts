import * as E from 'fp-ts/Either'
import type { Optimizer } from '../../staging'
import { type Failure, inputFailure } from '../failure'
import type { DecodedOptions } from '../options/option'
import type { optimizerOptions } from '../option-tables/optimizer-options'

type OptimizerChoices = Pick<DecodedOptions<typeof optimizerOptions>, 'optimizer' | 'momentum' | 'weightDecay'>

const adamDefaults = { beta1: 0.9, beta2: 0.999, epsilon: 1e-8 } as const

/** The optimizer with its defaults, those of torch.optim, save that sgd's momentum is 0.9. */
export const resolveOptimizer = ({ optimizer, momentum, weightDecay }: OptimizerChoices): E.Either<Failure, Optimizer> => {
  if (optimizer === 'sgd') return E.right({ kind: 'sgd', momentum: momentum ?? 0.9, weightDecay: weightDecay ?? 0 })
  if (momentum !== undefined) return E.left(inputFailure(`optimizer: momentum belongs to sgd; ${optimizer} has moments of its own`))
  return E.right({ kind: optimizer, ...adamDefaults, weightDecay: weightDecay ?? (optimizer === 'adamw' ? 0.01 : 0) })
}

/** The learning rate where none is given. */
export const defaultLearningRate = (kind: Optimizer['kind']): number => (kind === 'sgd' ? 0.01 : 0.001)
