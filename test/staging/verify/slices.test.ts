/** Programs of ranks that update slices of the parameters are refused where they are wrong. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { KernelOf } from '../../../staging/kernels/kernels'
import type { Instruction, Program } from '../../../staging/program/program'
import type { AllToAll } from '../../../staging/program/rank-instructions'
import { edited, exchanged, placeOf, programFor, sentenceOf, type SectionOfRanks } from '../rank-programs'

type Launch = Extract<Instruction, { readonly kind: 'launch' }>

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

test('a norm of gradients of which a slice is not gathered is refused', () => {
  const clipped = programFor(2, { shardOptimizer: true, clipNorm: 1 })
  const wrong = exchanged(clipped, 'update', 0, () => [])
  assert.match(sentenceOf(wrong), /^update: byte 0 of "gradient\..*" is not received once\.$/)
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

const elsewhere = <A extends { readonly base: number }>(offset: A, bytes: number): A => ({ ...offset, base: offset.base + bytes })

/** With room for one number more behind the slice that is gathered first. */
const widened = (program: Program): Program => {
  const { send } = program.update!.code.find(({ kind }) => kind === 'allToAll') as AllToAll
  return { ...program, buffers: program.buffers.map((one, index) => (index === send.buffer ? { ...one, bytes: one.bytes + 8 } : one)) }
}

const isUpdate = (one: Instruction): boolean => one.kind === 'launch' && sharded.kernels[one.kernel]!.kind === 'sgd'

/** Changes the first update of a slice. */
const updated = (change: (one: Launch) => readonly Instruction[]): Program => {
  let seen = -1
  return edited(sharded, 'update', (one) => (one.kind === 'launch' && isUpdate(one) && ++seen === 0 ? change(one) : [one]))
}

const firstUpdate = sharded.update!.code.find(isUpdate) as Launch
const sgd = sharded.kernels[firstUpdate.kernel] as KernelOf<'sgd'>
const updatedInPart = {
  ...updated((one) => [{ ...one, kernel: sharded.kernels.length }]),
  kernels: [...sharded.kernels, { ...sgd, count: sgd.count - 1 }]
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
    /^update, instruction \d+ \(allToAll\): receive reaches bytes 8 \.\. 872 of "0\.weight", which has 864\.$/
  ],
  [
    'a slice of which each rank gets other bytes',
    widened(changed('update', 'allToAll', 0, (one) => [{ ...one, sendStride: 8 }])),
    /^update: byte 0 of "0\.weight" is not of the slice that a rank has taken\.$/
  ],
  ['a slice that is not updated', updated(() => []), /^update: byte 0 of "0\.weight" is updated 0 times\.$/],
  ['a slice that is updated twice', updated((one) => [one, one]), /^update: byte 0 of "0\.weight" is updated 2 times\.$/],
  [
    'a slice of which a number is not updated',
    updatedInPart,
    /^update: byte 0 of "0\.weight" is updated by the sum or the state of other bytes\.$/
  ],
  [
    'a slice that is updated by something else than the sum',
    updated((one) => [
      {
        ...one,
        operands: one.operands.map((operand, place) => (place === 1 ? { ...operand, ...placeOf(sharded, 'gradient.0.weight') } : operand))
      }
    ]),
    /^update: byte 0 of "0\.weight" is updated by the sum or the state of other bytes\.$/
  ],
  [
    'the slice of other weights',
    changed('update', 'ownSlice', 0, (one) => [{ ...one, from: { ...one.from, ...placeOf(sharded, 'gradient.0.weight') } }]),
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
    changed('restore', 'ownSlice', 0, (one) => [{ ...one, from: { ...one.from, ...placeOf(sharded, '0.weight') } }]),
    /^restore: byte 0 of "velocity\.0\.weight" is of another slice\.$/
  ],
  [
    'a state that is saved as another slice',
    changed('save', 'allToAll', 0, (one) => [{ ...one, receive: { ...one.receive, ...placeOf(sharded, '0.weight') } }]),
    /^save: byte 0 of "velocity\.0\.weight" is of another slice\.$/
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
    'a slice of no rank',
    changed('update', 'ownSlice', 0, (one) => [{ ...one, ranks: 0 }]),
    /^update, instruction 0 \(ownSlice\): takes one of 0 slices of \d+ bytes\.$/
  ],
  [
    'a gradient of no parameter',
    {
      ...sharded,
      persistentTensors: sharded.persistentTensors.map((one) => (one.name === '0.weight' ? { ...one, name: 'another' } : one))
    },
    /^there is a gradient of "0\.weight", and no such parameter\.$/
  ],
  [
    'a slice in a loop',
    changed('update', 'ownSlice', 0, (one) => [{ kind: 'loop', axis: 'H', count: 2, body: [one] }]),
    /^update, instruction 0\.0 \(ownSlice\): stands in a loop\.$/
  ]
] as const)
  test(`a Program that shards the optimizer is refused with ${what}`, () => assert.match(sentenceOf(wrong), sentence))

test.run()
