/** Programs of ranks that were edited to be wrong are refused, each with its sentence. */
import { isLeft } from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { batchNorm, conv2d, globalAvgPool, linear, model } from '../../dsl'
import { type Plan, type Staged, type Training, stage, verify } from '../../staging'
import { referenceModel } from '../../staging/devices/reference-model'
import type { Instruction, Program } from '../../staging/program/program'
import type { AllToAll } from '../../staging/program/rank-instructions'
import { must } from '../must'

const network = model({
  name: 'ranked',
  input: [2, 3, 8, 8],
  layers: [conv2d({ out: 4, k: 3, p: 1 }), batchNorm(), globalAvgPool, linear({ out: 2 })]
})

const stagedFor = (ranks: number, more: Partial<Training>, given?: Plan): Staged =>
  must(
    stage({
      model: network,
      device: referenceModel('float64'),
      strategy: 'plain',
      objective: { kind: 'train', optimizer: { kind: 'sgd', momentum: 0.9, weightDecay: 0 }, accumulate: 4, ranks, ...more },
      source: { kind: 'float' },
      ...(given && { given })
    })
  )

/** Gradients travel behind the backward pass, or beside it. */
const programFor = (ranks: number, more: Partial<Training> = {}, beside = false): Program => {
  const found = stagedFor(ranks, more)
  const { overlapReduction: _, ...behind } = found.plan
  return beside ? found.program : stagedFor(ranks, more, behind).program
}

type SectionOfRanks = 'step' | 'reduce' | 'update' | 'restore' | 'save'
type Change = (one: Instruction, index: number) => readonly Instruction[]

const edited = (program: Program, section: SectionOfRanks, change: Change): Program => ({
  ...program,
  [section]: { ...program[section]!, code: program[section]!.code.flatMap(change) }
})

/** Changes the n-th exchange of a section. */
const exchanged = (program: Program, section: SectionOfRanks, n: number, change: (one: AllToAll) => readonly Instruction[]): Program => {
  let seen = -1
  return edited(program, section, (one) => (one.kind === 'allToAll' && ++seen === n ? change(one) : [one]))
}

const sentenceOf = (program: Program): string => {
  const verified = verify(program)
  return isLeft(verified) ? verified.left.message : 'nothing is wrong'
}

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
    /is not received once|stands in a loop/
  ],
  [
    'a sum that nobody waits for',
    edited(sound, 'update', (one) => (one.kind === 'wait' && one.engine === 'compute' ? [] : [one])),
    /nothing has waited for the network engine, which (reads|writes) the same bytes/
  ],
  [
    'a receive that does not wait',
    edited(sound, 'reduce', (one) => (one.kind === 'wait' && one.engine === 'network' ? [] : [one])),
    /nothing has waited for the compute engine|is written|nothing has waited/
  ],
  ['no section reduce', { ...sound, reduce: undefined } as unknown as Program, /^ranks exchange without a section reduce\.$/]
] as const)
  test(`a Program is refused with ${what}`, () => assert.match(sentenceOf(wrong), sentence))

const beside = programFor(2, {}, true)
const gradientsOf = ({ buffers }: Program) => buffers.flatMap(({ name }, index) => (name.startsWith('gradient.') ? [index] : []))
const adds = (one: Instruction): boolean => one.kind === 'launch' && one.engine === 'network'
const additionOf = (n: number): Instruction => beside.step.code.filter(adds)[n]!
const without = (gone: Instruction): Program => edited(beside, 'step', (one) => (one === gone ? [] : [one]))
const zeroOfGradient = beside.reduce!.code.find(
  (one) => one.kind === 'launch' && beside.kernels[one.kernel]!.kind === 'zero' && gradientsOf(beside).includes(one.operands[0]!.buffer!)
)!

for (const [what, wrong, sentence] of [
  ['a gradient that is not sent', exchanged(beside, 'step', 0, () => []), /^step and reduce: byte 0 of "gradient\..*" is not sent once\.$/],
  [
    'a gradient that is sent in the step and behind it',
    edited(beside, 'reduce', (one, index) => (index === 0 ? [one, beside.step.code.find(({ kind }) => kind === 'allToAll')!] : [one])),
    /^step and reduce: byte 0 of "gradient\..*" is not sent once\.$/
  ],
  [
    'a gradient to which something is added behind',
    edited(beside, 'step', (one, index) => (index === beside.step.code.length - 1 ? [one, zeroOfGradient] : [one])),
    /\(zero\): destination writes to "gradient\..*" behind what it has sent of it\.$/
  ],
  [
    'a gradient that goes before it is there',
    edited(beside, 'step', (one) => (one.kind === 'wait' && one.engine === 'network' ? [] : [one])),
    /nothing has waited for the (compute|network) engine/
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
    /of "(sum|gradient)\./
  ]
] as const)
  test(`a Program that adds gradients beside backward is refused with ${what}`, () => assert.match(sentenceOf(wrong), sentence))

type CopyBox = Extract<Program['kernels'][number], { readonly kind: 'copyBox' }>

/** The Program whose first piece of a gradient is added otherwise. */
const addedOtherwise = (changes: Partial<CopyBox>): Program => {
  const first = additionOf(0) as Extract<Instruction, { readonly kind: 'launch' }>
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

const sharded = programFor(2, { shardOptimizer: true })

for (const ranks of [1, 2, 4])
  for (const more of [{}, { clipNorm: 1 }])
    test(`Programs of ${ranks} ranks that shard the optimizer are sound as they come${'clipNorm' in more ? ', with clipping' : ''}`, () => {
      const program = programFor(ranks, { ...more, shardOptimizer: true })
      assert.is(sentenceOf(program), 'nothing is wrong')
      const states = program.persistentTensors.filter(({ role }) => role === 'velocity')
      for (const { name, bytes } of states) {
        const gradient = program.persistentTensors.find((tensor) => tensor.name === name.replace('velocity', 'gradient'))!
        assert.is(bytes * ranks, gradient.bytes, name)
      }
    })

/** Changes the n-th instruction of a kind in a section. */
const changed = <K extends Instruction['kind']>(
  section: SectionOfRanks,
  kind: K,
  n: number,
  change: (one: Extract<Instruction, { readonly kind: K }>) => readonly Instruction[]
): Program => {
  let seen = -1
  return edited(sharded, section, (one) =>
    one.kind === kind && ++seen === n ? change(one as Extract<Instruction, { readonly kind: K }>) : [one]
  )
}

/** Where a tensor of the first layer's weights lies. */
const placeOf = (name: string): { readonly base: number; readonly buffer: number } => {
  const buffer = sharded.buffers.findIndex((one) => one.name === name)
  return { base: sharded.buffers[buffer]!.offset, buffer }
}

const elsewhere = <A extends { readonly base: number }>(offset: A, bytes: number): A => ({ ...offset, base: offset.base + bytes })

const isUpdate = (one: Instruction): boolean => one.kind === 'launch' && sharded.kernels[one.kernel]!.kind === 'sgd'

/** Changes the first update of a slice. */
const updated = (change: (one: Extract<Instruction, { readonly kind: 'launch' }>) => readonly Instruction[]): Program => {
  let seen = -1
  return edited(sharded, 'update', (one) => (one.kind === 'launch' && isUpdate(one) && ++seen === 0 ? change(one) : [one]))
}

for (const [what, wrong, sentence] of [
  ['a slice that is not gathered', changed('update', 'allToAll', 0, () => []), /^update: byte 0 of "0\.weight" is not received once\.$/],
  [
    'a slice that is gathered twice',
    changed('update', 'allToAll', 0, (one) => [one, one]),
    /^update: byte 0 of "0\.weight" is not received once\.$/
  ],
  [
    'a slice that is gathered to another place',
    changed('update', 'allToAll', 0, (one) => [{ ...one, receive: elsewhere(one.receive, 8) }]),
    /of "0\.weight"/
  ],
  ['a slice that is not updated', updated(() => []), /^update: byte 0 of "0\.weight" is updated 0 times\.$/],
  ['a slice that is updated twice', updated((one) => [one, one]), /^update: byte 0 of "0\.weight" is updated 2 times\.$/],
  [
    'a slice that is updated by something else than the sum',
    updated((one) => [
      { ...one, operands: one.operands.map((operand, place) => (place === 1 ? { ...operand, ...placeOf('gradient.0.weight') } : operand)) }
    ]),
    /^update: byte 0 of "0\.weight" is updated by the sum or the state of other bytes\.$/
  ],
  [
    'the slice of other weights',
    changed('update', 'ownSlice', 0, (one) => [{ ...one, from: { ...one.from, ...placeOf('gradient.0.weight') } }]),
    /^update: byte 0 of "0\.weight" is not of the slice that a rank has taken\.$/
  ],
  ['no slice', changed('update', 'ownSlice', 0, () => []), /^update: byte 0 of "0\.weight" is not of the slice that a rank has taken\.$/],
  [
    'a state that is not restored',
    changed('restore', 'ownSlice', 0, () => []),
    /^restore: byte 0 of "velocity\.0\.weight" is not taken once\.$/
  ],
  [
    'a state that is restored from another slice',
    changed('restore', 'ownSlice', 0, (one) => [{ ...one, from: { ...one.from, ...placeOf('0.weight') } }]),
    /^restore: byte 0 of "velocity\.0\.weight" is of another slice\.$/
  ],
  ['a state that is not saved', changed('save', 'allToAll', 0, () => []), /^save: byte 0 of "velocity\.0\.weight" is not sent once\.$/],
  [
    'a state that nobody waits for',
    edited(sharded, 'save', (one) => (one.kind === 'wait' && one.engine === 'compute' ? [] : [one])),
    /nothing has waited for the network engine/
  ],
  [
    'weights that are sent before they are updated',
    edited(sharded, 'update', (one) => (one.kind === 'wait' && one.engine === 'network' ? [] : [one])),
    /nothing has waited for the compute engine/
  ],
  [
    'a slice in a loop',
    changed('update', 'ownSlice', 0, (one) => [{ kind: 'loop', axis: 'H', count: 2, body: [one] }]),
    /stands in a loop|has taken/
  ]
] as const)
  test(`a Program that shards the optimizer is refused with ${what}`, () => assert.match(sentenceOf(wrong), sentence))

test.run()
