import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import type { Model } from '../dsl'
import { builtIn } from '../models'
import { type Failure, inputFailure } from '../src/failure'
import { buildSetupGraph, imageNetSource, planRequest } from '../src/plans/plan-network'
import type { Objective, PlanRequest, StageRequest, StrategyName } from '../staging'

/**
 * What is benchmarked: a training step of a built-in model (head gap, two classes) on square
 * images.
 */
interface Benchmarked {
  readonly model: string
  /** Height and width. */
  readonly size: number
  readonly threads: number
  /** Images of a step; 1 where absent. */
  readonly batch?: number
  /** The strategy within this part of what plain needs; strategy plain where absent. */
  readonly fraction?: number
  /** `sft` where absent. */
  readonly strategy?: StrategyName
  /**
   * Bytes a second of either direction between device and host pool; as fast as memory where
   * absent.
   */
  readonly link?: number
  /** Momentum of SGD; 0.9 where absent. With 0 there is no velocity in memory. */
  readonly momentum?: number
  /** Whether kernels that round differently are refused. */
  readonly exactKernels?: boolean
  /** float32 where absent. */
  readonly precision?: 'float32' | 'bf16'
}

const benchObjective = (momentum = 0.9): Objective => ({ kind: 'train', optimizer: { kind: 'sgd', momentum, weightDecay: 0 } })

const benchModel = (name: string): Model => builtIn[name]!({ classes: 2, head: 'gap' })

/** What staging is asked: on the cpu, by this machine's profile. */
export const requestFor = ({
  model: name,
  size,
  threads,
  batch = 1,
  momentum,
  fraction,
  strategy = 'sft',
  link,
  exactKernels = false,
  precision = 'float32'
}: Benchmarked): E.Either<Failure, StageRequest & { readonly input: readonly number[] }> => {
  const input = [batch, 3, size, size]
  return pipe(
    Object.hasOwn(builtIn, name)
      ? E.right(benchModel(name))
      : E.left(inputFailure(`${name} is none of the built-in models ${Object.keys(builtIn).join(', ')}`)),
    E.map((model) => ({
      model,
      input,
      device: 'cpu' as const,
      precision,
      threads,
      ...(fraction === undefined ? { strategy: 'plain' as const } : { strategy, budget: { kind: 'ofPlain', fraction } as const }),
      ...(link === undefined ? {} : { hostBandwidth: link }),
      ...(exactKernels && { exactKernels: true as const })
    })),
    E.chain((setup) => buildSetupGraph(setup, benchObjective(momentum), imageNetSource)),
    E.chain((built) => E.map((request: PlanRequest) => ({ ...request, model: built.setup.model, input }))(planRequest(built)))
  )
}
