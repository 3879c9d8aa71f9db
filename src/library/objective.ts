import * as E from 'fp-ts/Either'
import { pipe } from 'fp-ts/function'
import type { ParameterGroup } from '../../staging'
import { type OptionalCodecs, exactly } from '../../staging/decoding/exactly'
import { type Failure, inputFailure } from '../failure'
import { decodeOptimizer } from '../optimizer'
import type { ObjectiveOptions } from '../training/objective'
import { parseGroup } from '../training/parameter-groups'
import { accepting, fromZero, listOf, oneOf, positive, text, textOr, whole } from '../codecs'
import { orText, present } from './values'
import { mostMicroBatches } from '../limits'

/** What an update of the weights is; all of it changes bytes. Named as on the command line. */
export interface OptimizerOptions {
  /** `sgd` where absent. */
  readonly optimizer?: 'sgd' | 'adam' | 'adamw'
  /** Of sgd; 0.9 where absent. */
  readonly momentum?: number
  /** 0 where absent, with adamw 0.01. */
  readonly weightDecay?: number
  /** Micro-batches whose gradients make one step, up to 65536; 1 where absent. */
  readonly accumulate?: number
  /** Gradients are scaled down to this norm, over all of them. */
  readonly clipNorm?: number
  /** Parameters that stay as they are, by prefix of their names. */
  readonly freeze?: readonly string[]
  /** Learning rate and weight decay of parameters by prefix: a group, or its text such as 'features:rate=0.1'. */
  readonly group?: readonly (ParameterGroup | string)[]
}

const groupCodec = exactly<ParameterGroup>(
  'a group of parameters',
  'field',
  { prefix: text },
  { rate: fromZero, weightDecay: fromZero, frozen: accepting<true>('true', (value) => value === true) }
)

export const optimizerCodecs: OptionalCodecs<OptimizerOptions> = {
  optimizer: oneOf('sgd', 'adam', 'adamw'),
  momentum: accepting<number>(
    'a number from 0 up to, but not including, 1',
    (value) => typeof value === 'number' && value >= 0 && value < 1
  ),
  weightDecay: fromZero,
  accumulate: whole(1, mostMicroBatches),
  clipNorm: positive,
  freeze: listOf(text),
  group: listOf(textOr<ParameterGroup>('a group of parameters, or its text', parseGroup, groupCodec))
}

export const objectiveOf = (options: OptimizerOptions): E.Either<Failure, ObjectiveOptions> => {
  const { optimizer = 'sgd', momentum, weightDecay, accumulate, clipNorm, freeze } = options
  return pipe(
    E.mapLeft(inputFailure)(decodeOptimizer({ optimizer, momentum, weightDecay })),
    E.bindTo('optimizer'),
    E.bind('group', () => E.traverseArray((group: ParameterGroup | string) => orText('group', group, parseGroup))(options.group ?? [])),
    E.map(({ optimizer, group }) => ({ optimizer, group, ...present({ accumulate, clipNorm, freeze }) }))
  )
}
