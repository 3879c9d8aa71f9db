/**
 * Programs of ranks that gather all rows of a tensor for what runs on all of them alike: sound, and
 * refused where they are edited to be wrong, each with its sentence.
 */
import { isLeft } from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { conv2d, flatten, linear, maxPool2d, model, relu } from '../../../dsl'
import { decodeRankSummary, stage, summariseRank, verify, verifyRanks, verifySummaries, type Segment } from '../../../staging'
import { referenceModel } from '../../../staging/devices/reference-model'
import type { Instruction, Program } from '../../../staging/program/program'
import type { AllToAll } from '../../../staging/program/rank-instructions'
import { must } from '../../must'

const layers = [conv2d({ out: 4, k: 3, p: 1 }), relu, maxPool2d({ k: 2 }), flatten, linear({ out: 2 })] as const

const segment = (from: number, to: number, H = 1): Segment => ({ from, to, grid: { B: 1, H, W: 1 }, recompute: H > 1, reorder: 'once' })

interface Mesh {
  readonly images: number
  readonly count: number
  readonly imageParts?: number
}

const programsOf = ({ images, count, imageParts = 1 }: Mesh): readonly Program[] =>
  Array.from({ length: count }, (_, index) => {
    const request = {
      model: model({ name: 'gathering', input: [images, 3, 64, 32], layers }),
      device: referenceModel('float64'),
      strategy: 'sft' as const,
      given: {
        order: layers.map((_, position) => position).concat(layers.length),
        segments: [segment(0, 3, count < 32 ? 2 : 1), segment(3, 6)]
      },
      objective: {
        kind: 'train' as const,
        optimizer: { kind: 'sgd' as const, momentum: 0, weightDecay: 0 },
        shard: { count, index, ...(imageParts > 1 && { images: imageParts }) }
      },
      source: { kind: 'float' as const }
    }
    return must(stage(request)).program
  })

const gathers = ({ step, buffers }: Program): readonly AllToAll[] =>
  step.code.flatMap((one) => (one.kind === 'allToAll' && /^rows for/.test(buffers[one.send.buffer!]!.name) ? [one] : []))

const sentenceOf = (programs: readonly Program[]): string => {
  for (const program of programs) {
    const verified = verify(program)
    if (isLeft(verified)) return verified.left.message
  }
  const together = verifyRanks(programs)
  return isLeft(together) ? together.left.message : 'nothing is wrong'
}

for (const mesh of [
  { images: 1, count: 2 },
  { images: 3, count: 4 },
  { images: 1, count: 32 },
  { images: 4, count: 8, imageParts: 2 }
])
  test(`Programs of ${mesh.count} ranks that gather rows of ${mesh.images} images at once are sound as they come`, () => {
    const programs = programsOf(mesh)
    assert.is(sentenceOf(programs), 'nothing is wrong')
    programs.forEach((program) => assert.is(gathers(program).length, 1))
    const told = programs.map((program) => must(decodeRankSummary(JSON.parse(JSON.stringify(summariseRank(program))))))
    assert.is(isLeft(verifySummaries(told)), false)
  })

test('ranks that own different numbers of rows send each other messages', () => {
  const programs = programsOf({ images: 1, count: 3 })
  assert.is(sentenceOf(programs), 'nothing is wrong')
  programs.forEach((program) => assert.is(gathers(program).length, 0))
})

const sound = programsOf({ images: 1, count: 4 })
type Launch = Extract<Instruction, { readonly kind: 'launch' }>
type Box = Extract<Program['kernels'][number], { readonly kind: 'copyBox' }>

/** The step of the second rank, with the copy that packs or takes what is gathered replaced. */
const withCopy = (side: 'send' | 'receive', change: (copy: Launch, box: Box) => readonly (readonly [Launch, Box])[]): readonly Program[] =>
  sound.map((program, rank) => {
    if (rank !== 1) return program
    const place = gathers(program)[0]![side].base
    const kernels = [...program.kernels]
    const code = program.step.code.flatMap((one): readonly Instruction[] => {
      const box = one.kind === 'launch' ? program.kernels[one.kernel]! : undefined
      if (one.kind !== 'launch' || box?.kind !== 'copyBox' || one.operands[side === 'send' ? 1 : 0]!.base !== place) return [one]
      return change(one, box).map(([launch, changed]) => ({ ...launch, kernel: kernels.push(changed) - 1 }))
    })
    return { ...program, kernels, step: { ...program.step, code } }
  })

const movedBy = (copy: Launch, operand: 0 | 1, bytes: number): Launch => ({
  ...copy,
  operands: copy.operands.with(operand, { ...copy.operands[operand]!, base: copy.operands[operand]!.base + bytes })
})

/** Bytes of a row of 16 pixels in float64. */
const row = 16 * 8

const changedGather = (change: (one: AllToAll) => readonly Instruction[]): readonly Program[] =>
  sound.map((program, rank) => {
    const [gather] = gathers(program)
    return rank === 1
      ? { ...program, step: { ...program.step, code: program.step.code.flatMap((one) => (one === gather ? change(gather!) : [one])) } }
      : program
  })

for (const [what, programs, sentence] of [
  [
    'other rows than its own',
    withCopy('send', (copy, box) => [[movedBy(copy, 0, -row), box]]),
    /of "the output of 2", which nothing writes before\.$/
  ],
  [
    'rows of which the channels are packed side by side',
    withCopy('send', (copy, box) => [[copy, { ...box, destinationStride1: box.n3, destinationStride2: box.n1 * box.n3 }]]),
    /^step: what exchange 0 gathers is packed by no one copy of whole rows on rank 1\.$/
  ],
  ['rows that nothing packs', withCopy('send', () => []), /of "rows for a rank", which nothing writes before\.$/],
  ['rows that nothing takes', withCopy('receive', () => []), /of "the output of 2", which nothing writes before\.$/],
  [
    'rows that are taken in another place',
    withCopy('receive', (copy, box) => [
      [copy, { ...box, destinationStride1: box.destinationStride2, destinationStride2: box.destinationStride1 }]
    ]),
    /^step: what exchange 0 gathers is taken by no one copy of all rows by rank 1\.$/
  ],
  [
    'rows that are taken in the order of other ranks',
    withCopy('receive', (copy, box) => [
      [movedBy(copy, 0, box.sourceStride1 * 8), { ...box, n1: 3 }],
      [movedBy(copy, 1, 3 * box.destinationStride1 * 8), { ...box, n1: 1 }]
    ]),
    /behind what is packed of it for other ranks\.$/
  ],
  [
    'rows that are added',
    withCopy('receive', (copy, box) => [[copy, { ...box, add: 1 }]]),
    /adds to .* of "the output of 2", which nothing writes before\.$/
  ],
  [
    'rows that are taken twice',
    withCopy('receive', (copy, box) => [
      [copy, box],
      [copy, box]
    ]),
    /^step: what exchange 0 gathers is taken by no one copy of all rows by rank 1\.$/
  ],
  ['rows that it does not gather', changedGather(() => []), /of "rows of a rank", which nothing writes before\.$/],
  [
    'rows of which a half is gathered',
    changedGather((one) => [{ ...one, bytes: one.bytes / 2, receiveStride: one.receiveStride / 2 }]),
    /of "rows of a rank", which nothing writes before\.$/
  ]
] as const)
  test(`Programs are refused with ${what}`, () => assert.match(sentenceOf(programs), sentence))

type Told = ReturnType<typeof summariseRank>
type GatherRound = Extract<Told['sections'][number]['rounds'][number], { readonly kind: 'allToAll' }>

/** What the ranks tell, of which the second one tells otherwise of what it gathers. */
const told = (change: (one: GatherRound) => GatherRound): readonly Told[] =>
  sound.map(summariseRank).map((summary, rank) => ({
    ...summary,
    sections: summary.sections.map(({ name, rounds }) => ({
      name,
      rounds: rounds.map((one) => (rank === 1 && one.kind === 'allToAll' && one.rows !== undefined ? change(one) : one))
    }))
  }))

const ownRows = 'rows 8 .. 16 of images 0 .. 1 of "the output of 2"'

for (const [what, change, sentence] of [
  [
    'sends of other rows',
    (one) => ({ ...one, rows: { ...one.rows, content: 'rows 7 .. 15 of images 0 .. 1 of "the output of 2"' } }),
    `step: what exchange 0 gathers of rank 1 is rows 7 .. 15 of images 0 .. 1 of "the output of 2", and is taken as ${ownRows}.`
  ],
  [
    'packs no whole rows',
    (one) => ({ ...one, rows: { taken: one.rows!.taken! } }),
    'step: what exchange 0 gathers is packed by no one copy of whole rows on rank 1.'
  ],
  [
    'takes rows of another tensor',
    (one) => ({ ...one, rows: { ...one.rows, taken: { ...one.rows!.taken!, tensor: 'another' } } }),
    'step: what exchange 0 gathers is taken as parts of rows 0 .. 8 of images 0 .. 1 of "another" by rank 1, and of rows 0 .. 8 of images 0 .. 1 of "the output of 2" by rank 0.'
  ],
  [
    'takes parts of fewer ranks',
    (one) => ({ ...one, rows: { ...one.rows, taken: { ...one.rows!.taken!, rowParts: 3 } } }),
    'step: what exchange 0 gathers is taken by no one copy of all rows by rank 1.'
  ],
  [
    'gathers no rows',
    ({ rows: _, ...one }) => ({ ...one, sent: 'rows for a rank' }),
    'step: exchange 0 of rank 1 is of rows for a rank, that of rank 0 of rows.'
  ]
] as readonly (readonly [string, (one: GatherRound) => GatherRound, string])[])
  test(`ranks do not go together where one ${what}`, () => {
    const together = verifySummaries(told(change))
    assert.is(isLeft(together) ? together.left.message : 'nothing is wrong', sentence)
  })

test.run()
