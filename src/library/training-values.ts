import type * as t from 'io-ts'
import { exactly } from '../../staging/decoding/exactly'
import { accepting, byKind, fromZero, listOf, oneOf, positive, textOr, whole } from '../codecs'
import { type Schedule, parseSchedule } from '../schedule'
import { type ColourJitter, parseColourJitter } from '../training/augmentation'
import { parseClassWeights } from '../training/class-weights'

type Kind<K extends Schedule['kind']> = Extract<Schedule, { readonly kind: K }>

const schedules = byKind<Schedule>('a schedule', {
  constant: exactly<Kind<'constant'>>('a schedule', 'field', { kind: oneOf('constant') }, {}),
  cosine: exactly<Kind<'cosine'>>('a schedule', 'field', { kind: oneOf('cosine') }, {}),
  step: exactly<Kind<'step'>>('a schedule', 'field', { kind: oneOf('step'), every: whole(1), factor: positive }, {})
})

export const scheduleCodec = textOr('a schedule, or its text', parseSchedule, schedules)

const within = (most: number): t.Type<number> =>
  accepting(`a number from 0 to ${most}`, (value) => typeof value === 'number' && value >= 0 && value <= most)

const jitters = exactly<ColourJitter>(
  'a colour jitter',
  'field',
  { brightness: within(1), contrast: within(1), saturation: within(1), hue: within(0.5) },
  {}
)

export const colourJitterCodec = textOr('a colour jitter, or its text', parseColourJitter, jitters)

export const classWeightsCodec = textOr('balanced, one number a class, or their text', parseClassWeights, listOf(fromZero))
