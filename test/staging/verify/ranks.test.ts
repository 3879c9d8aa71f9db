/** Programs of ranks that were edited to be wrong are refused, each with its sentence. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { Instruction, Program } from '../../../staging/program/program'
import { copy } from '../../native/program'
import { edited, exchanged, placeOf, programFor, sentenceOf } from '../rank-programs'

for (const ranks of [1, 2, 4])
  for (const more of [{}, { clipNorm: 1 }])
    test(`Programs of ${ranks} ranks are sound as they come${'clipNorm' in more ? ', with clipping' : ''}`, () =>
      [false, true].forEach((beside) => assert.is(sentenceOf(programFor(ranks, more, beside)), 'nothing is wrong')))

const sound = programFor(2)
const pieces = sound.persistentTensors.filter(({ role }) => role === 'gradient').length

// The first exchange of `reduce` is of moments, the others of gradients; in `update` all are.
for (const [what, wrong, sentence] of [
  [
    'a gradient that is not reduced',
    exchanged(sound, 'reduce', 1, () => []),
    /^reduce: byte 0 of "gradient\.0\.weight" is not sent once\.$/
  ],
  [
    'a gradient that is reduced twice',
    exchanged(sound, 'reduce', 1, (one) => [one, one]),
    /^reduce: byte 0 of "gradient\.0\.weight" is not sent once\.$/
  ],
  [
    'a gradient of which a byte is left out',
    exchanged(sound, 'reduce', 1, (one) => [{ ...one, bytes: one.bytes - 8, sendStride: one.sendStride - 8 }]),
    /^reduce: byte \d+ of "gradient\.0\.weight" is not sent once\.$/
  ],
  ['moments that stay', exchanged(sound, 'reduce', 0, () => []), /^reduce: byte 0 of "moments of 1" is not sent once\.$/],
  [
    'a gradient that is not gathered',
    exchanged(sound, 'update', pieces - 1, () => []),
    /^update: byte 0 of "gradient\..*" is not received once\.$/
  ],
  [
    'other ranks',
    exchanged(sound, 'update', 0, (one) => [{ ...one, ranks: 4, receiveStride: one.receiveStride / 2, bytes: one.bytes / 2 }]),
    /^exchanges are with 2 and with 4 ranks\.$/
  ],
  [
    'slices that overlap',
    exchanged(sound, 'update', 0, (one) => [{ ...one, receiveStride: one.bytes - 8 }]),
    /receives \d+ bytes of each rank at places \d+ bytes apart/
  ],
  [
    'an exchange in a loop',
    exchanged(sound, 'update', 0, (one) => [{ kind: 'loop', axis: 'H', count: 2, body: [one] }]),
    /^update, instruction 0\.0 \(allToAll\): stands in a loop\.$/
  ],
  [
    'a sum that nobody waits for',
    edited(sound, 'update', (one) => (one.kind === 'wait' && one.engine === 'compute' ? [] : [one])),
    /gradient reads .*, but nothing has waited for the network engine, which writes the same bytes/
  ],
  [
    'a receive that does not wait',
    edited(sound, 'reduce', (one) => (one.kind === 'wait' && one.engine === 'network' ? [] : [one])),
    /receive writes .* of "moments of all ranks", but nothing has waited for the compute engine/
  ],
  ['no section reduce', { ...sound, reduce: undefined } as unknown as Program, /^ranks exchange without a section reduce\.$/]
] as const)
  test(`a Program is refused with ${what}`, () => assert.match(sentenceOf(wrong), sentence))

const beside = programFor(2, {}, true)
const gradientsOf = ({ buffers }: Program) => buffers.flatMap(({ name }, index) => (name.startsWith('gradient.') ? [index] : []))
const adds = (one: Instruction): boolean => one.kind === 'launch' && one.engine === 'network'
const additionOf = (n: number): Instruction => beside.step.code.filter(adds)[n]!
const without = (gone: Instruction): Program => edited(beside, 'step', (one) => (one === gone ? [] : [one]))
type Launch = Extract<Instruction, { readonly kind: 'launch' }>
const zeroOfGradient = beside.reduce!.code.find(
  (one): one is Launch =>
    one.kind === 'launch' && beside.kernels[one.kernel]!.kind === 'zero' && gradientsOf(beside).includes(one.operands[0]!.buffer!)
)!
const weight = { ...zeroOfGradient.operands[0]!, ...placeOf(beside, '0.weight') }
const behindStep = (program: Program, more: Instruction): Program =>
  edited(program, 'step', (one, index) => (index === program.step.code.length - 1 ? [one, more] : [one]))

for (const [what, wrong, sentence] of [
  ['a gradient that is not sent', exchanged(beside, 'step', 0, () => []), /^step and reduce: byte 0 of "gradient\..*" is not sent once\.$/],
  [
    'a gradient that is sent in the step and behind it',
    edited(beside, 'reduce', (one, index) => (index === 0 ? [one, beside.step.code.find(({ kind }) => kind === 'allToAll')!] : [one])),
    /^step and reduce: byte 0 of "gradient\..*" is not sent once\.$/
  ],
  [
    'a gradient that is zeroed behind',
    behindStep(beside, zeroOfGradient),
    /\(zero\): destination writes to "gradient\..*" behind what it has sent of it\.$/
  ],
  [
    'a gradient to which something is added behind',
    behindStep(
      { ...beside, kernels: [...beside.kernels, { ...(copy(1) as CopyBox), add: 1, ofParameters: 1 }] },
      { ...zeroOfGradient, kernel: beside.kernels.length, operands: [weight, zeroOfGradient.operands[0]!] }
    ),
    /\(copyBox\): destination writes to "gradient\..*" behind what it has sent of it\.$/
  ],
  [
    'a gradient that goes before it is there',
    edited(beside, 'step', (one) => (one.kind === 'wait' && one.engine === 'network' ? [] : [one])),
    /send reads .* of "gradient\..*", but nothing has waited for the compute engine/
  ],
  ['an addition that is left out', without(additionOf(1)), /^step: byte 0 of "gradient\..*" is not added once, in the order of ranks,/],
  [
    'an addition twice',
    edited(beside, 'step', (one) => (one === additionOf(0) ? [one, one] : [one])),
    /^step: byte 0 of "gradient\..*" is not added once, in the order of ranks,/
  ],
  [
    'additions out of order',
    edited(beside, 'step', (one) => (one === additionOf(0) ? [additionOf(1)] : one === additionOf(1) ? [additionOf(0)] : [one])),
    /^step: byte 0 of "gradient\..*" is not added once, in the order of ranks,/
  ],
  [
    'an addition to another place',
    edited(beside, 'step', (one) =>
      one === additionOf(0) && one.kind === 'launch'
        ? [{ ...one, operands: one.operands.map((operand, place) => (place === 1 ? { ...operand, base: operand.base + 8 } : operand)) }]
        : [one]
    ),
    /^step: byte 0 of "gradient\..*" is not added once, in the order of ranks,/
  ],
  [
    'a sum that is gathered to another place',
    exchanged(beside, 'update', 0, (one) => [{ ...one, send: { ...one.send, base: one.send.base + 8 } }]),
    /^update: byte 0 of "gradient\.0\.weight" is gathered from the sum of other bytes\.$/
  ]
] as const)
  test(`a Program that adds gradients beside backward is refused with ${what}`, () => assert.match(sentenceOf(wrong), sentence))

type CopyBox = Extract<Program['kernels'][number], { readonly kind: 'copyBox' }>

/** The Program whose first piece of a gradient is added otherwise. */
const addedOtherwise = (changes: Partial<CopyBox>): Program => {
  const first = additionOf(0) as Launch
  const kernels = [...beside.kernels, { ...(beside.kernels[first.kernel] as CopyBox), ...changes }]
  return edited({ ...beside, kernels }, 'step', (one) => (one === first ? [{ ...first, kernel: kernels.length - 1 }] : [one]))
}
const { n3: ofPiece } = addedOtherwise({}).kernels.at(-1) as CopyBox

for (const changes of [
  { n0: 1 },
  { n0: 3 },
  { n1: 2 },
  { n3: ofPiece - 1 },
  { sourceStride0: ofPiece - 1 },
  { destinationStride0: ofPiece },
  { add: 0 },
  { ofParameters: 0 }
] as const)
  test(`a Program that adds gradients by ${JSON.stringify(changes)} is refused`, () =>
    assert.not.match(sentenceOf(addedOtherwise(changes)), 'nothing is wrong'))

test('a Program that adds gradients by an equal kernel is sound', () => assert.is(sentenceOf(addedOtherwise({})), 'nothing is wrong'))

test.run()
