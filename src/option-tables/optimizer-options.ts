import type { Optimizer, ParameterGroup } from '../../staging'
import { strictObject } from '../../staging/decoding/strict-object'
import { predicateCodec } from '../../staging/decoding/predicate-codec'
import { parseGroup } from '../training/parameter-groups'
import { fromZeroCodec, textCodec, textOrCodec } from '../options/codecs'
import { fromZero, number, oneOf, positive, prefixes, repeatableKind, whole } from '../options/kinds'
import { maxMicroBatches } from '../options/limits'
import { type OptionsOf, withDefault, optional } from '../options/option'

const groupCodec = strictObject<ParameterGroup>(
  'a group of parameters',
  'field',
  { prefix: textCodec },
  { rate: fromZeroCodec, weightDecay: fromZeroCodec, frozen: predicateCodec<true>('true', (value) => value === true) }
)

const groups = repeatableKind<ParameterGroup | string, ParameterGroup>(
  'group',
  textOrCodec('a group of parameters, or its text', parseGroup, groupCodec),
  parseGroup
)

const momentum = predicateCodec<number>(
  'a number from 0 up to, but not including, 1',
  (value) => typeof value === 'number' && value >= 0 && value < 1
)

/** Options of how the weights are updated; all of them change the bytes that a step needs. */
export const optimizerOptions = {
  /** How the weights are updated; adam and adamw keep two moments of each. */
  optimizer: withDefault(oneOf<Optimizer['kind']>('name', ['sgd', 'adam', 'adamw']), 'how the weights are updated; changes bytes', 'sgd'),
  /** Momentum of sgd; 0.9 where absent. */
  momentum: optional(number(momentum), 'of sgd', { otherwise: '0.9' }),
  /** Weight decay; 0 where absent, with adamw 0.01. */
  weightDecay: optional(fromZero, 'weight decay, as in torch.optim', { otherwise: '0; adamw 0.01' }),
  /** Micro-batches whose gradients are added up and make one step, up to 65536. */
  accumulate: withDefault(whole(1, maxMicroBatches), 'micro-batches whose gradients make one step', 1),
  /** Gradients are scaled down to this norm (over all of them) where theirs is larger. */
  clipNorm: optional(positive, 'scale gradients down to this norm, over all of them'),
  /** Parameters that stay as they are, by prefixes of their names, such as features.0. */
  freeze: optional(prefixes, 'parameters that stay as they are, by prefix of their names, such as features.0; may be given again'),
  /**
   * Learning rate (as a factor) and weight decay of parameters by prefix: a group, or its text
   * such as 'features:rate=0.1'.
   */
  paramGroup: optional(
    groups,
    'PREFIX:rate=FACTOR,decay=VALUE: times the learning rate, and weight decay, of parameters by prefix; may be given again',
    {
      formerly: 'group'
    }
  )
}

/** How the weights are updated, as a function of the library takes it. */
export interface OptimizerOptions extends OptionsOf<typeof optimizerOptions> {}
