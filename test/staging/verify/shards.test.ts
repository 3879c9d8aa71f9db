/** Programs of ranks that share rows, edited to be wrong, are refused, each with its sentence. */
import { isLeft } from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { conv2d, globalAvgPool, globalMaxPool, linear, overlapLoss, relu } from '../../../dsl'
import { stage, verify, verifyRanks, type Kernel, type Segment } from '../../../staging'
import type { Address } from '../../../staging/program/address'
import type { Instruction, Program } from '../../../staging/program/program'
import type { ImageRanges } from '../../../staging/program/program-buffer'
import type { AllToAll, Exchange } from '../../../staging/program/rank-instructions'
import { must } from '../../must'
import { layers, normalising, normalisingPrograms, programsOf, requestFor, segment, sentenceOf, sentenceTogether } from '../shared-rows'

for (const count of [1, 2, 3, 4, 7])
  test(`Programs of ${count} ranks are sound as they come`, () => assert.is(sentenceOf(programsOf(count)), 'nothing is wrong'))

for (const count of [1, 2, 3])
  test(`Programs of ${count} ranks that normalise are sound as they come`, () => {
    const programs = normalisingPrograms(count)
    assert.is(sentenceOf(programs), 'nothing is wrong')
    for (const { shard } of programs) assert.equal(shard!.merged, ['moments of 1', 'sums of 1'])
  })

test('a batch in as many tiles as images, and then in half as many, is sound', () => {
  const given = [conv2d({ out: 4, k: 3, p: 1 }), globalAvgPool, linear({ out: 3 }), relu, linear({ out: 2 })] as const
  const inTiles = (from: number, to: number, B: number): Segment => ({ ...segment(from, to), grid: { B, H: 1, W: 1 }, recompute: true })
  const request = requestFor(given, [segment(0, 2), inTiles(2, 4, 4), inTiles(4, 6, 2)], {})
  const { program } = must(stage({ ...request, model: { ...request.model, input: [4, 3, 16, 8] } }))
  assert.is(isLeft(verify(program)), false)
})

test('Programs of ranks whose loss is of overlaps are sound, and merge them', () => {
  const given = [conv2d({ out: 4, k: 3, p: 1 }), relu, conv2d({ out: 3, k: 3, p: 1 }), overlapLoss({ loss: 'dice+cross-entropy' })] as const
  // Rows are shared otherwise where a segment is in tiles.
  for (const [convolution, loss] of [
    [1, 1],
    [3, 1],
    [1, 5],
    [7, 4]
  ]) {
    const programs = [0, 1, 2].map((index) => {
      const request = requestFor(given, [segment(0, 2), segment(2, 3, convolution), segment(3, 4, loss)], { shard: { count: 3, index } })
      return must(stage({ ...request, given: { ...request.given, order: [0, 1, 2, 3] } })).program
    })
    assert.is(sentenceOf(programs), 'nothing is wrong')
    for (const { shard } of programs) assert.equal(shard!.merged, ['overlaps of 3'])
  }
})

test('a segment that all ranks run alike may stand before others of which each runs its rows', () => {
  const segments = [segment(0, 1), segment(1, 4), segment(4, 5), segment(5, 7)]
  const programs = [0, 1].map((index) => must(stage(requestFor(normalising, segments, { shard: { count: 2, index } }))).program)
  assert.is(sentenceOf(programs), 'nothing is wrong')
  const alike = [0, 1].map(
    (index) => must(stage(requestFor(normalising, [segment(0, 3), segment(3, 5), segment(5, 7)], { shard: { count: 2, index } }))).program
  )
  assert.is(sentenceOf(alike), 'nothing is wrong')
  for (const { shard } of alike) assert.equal(shard!.replicated, ['0.weight', '0.bias', '1.weight', '1.bias', '5.weight', '5.bias'])
})

test('a sum over rows is counted exactly, whatever their number', () => {
  for (const rows of [7, 11, 13, 29])
    for (const count of [2, 3]) {
      const programs = Array.from({ length: count }, (_, index) => {
        const request = requestFor([conv2d({ out: 4, k: 3, p: 1 }), globalAvgPool, linear({ out: 2 })], [segment(0, 2), segment(2, 4)], {
          shard: { count, index }
        })
        return must(stage({ ...request, input: [1, 3, rows, 20] })).program
      })
      assert.is(sentenceOf(programs), 'nothing is wrong', `${rows} rows on ${count} ranks`)
    }
})

test('what has too few rows for all ranks runs on all of them alike', () => {
  // Ten rows make four parts of 3, 3, 3 and 1; five behind the pool make three of 2, 2 and 1.
  const untiled = [segment(0, 2), segment(2, 4), segment(4, 5), segment(5, 7), segment(7, 9)]
  const programs = Array.from(
    { length: 4 },
    (_, index) => must(stage({ ...requestFor(layers, untiled, { shard: { count: 4, index } }), input: [1, 3, 10, 32] })).program
  )
  assert.is(sentenceOf(programs), 'nothing is wrong')
  for (const { shard } of programs) assert.equal(shard!.replicated, ['5.weight', '5.bias', '7.weight', '7.bias'])
})

test('the memory of a rank falls with their number', () => {
  const peaks = [1, 2, 4].map((count) => Math.max(...programsOf(count).map(({ peakBytes }) => peakBytes)))
  assert.ok(peaks[1]! < 0.6 * peaks[0]!, peaks.join())
  assert.ok(peaks[2]! < 0.6 * peaks[1]!, peaks.join())
})

const sound = programsOf(3)

type Change = (one: Instruction, index: number) => readonly Instruction[]

const edited = (rank: number, change: Change): readonly Program[] =>
  sound.map((program, index) =>
    index === rank ? { ...program, step: { ...program.step, code: program.step.code.flatMap(change) } } : program
  )

/** Changes the n-th exchange of a rank's step. */
const exchanged = (rank: number, n: number, change: (one: Exchange) => readonly Instruction[]): readonly Program[] => {
  let seen = -1
  return edited(rank, (one) => (one.kind === 'exchange' && ++seen === n ? change(one) : [one]))
}

const ofRank = (rank: number, change: (program: Program) => Program): readonly Program[] =>
  sound.map((program, index) => (index === rank ? change(program) : program))

/** Zeroes a parameter's gradient behind the step, and reads it where the step must not end so. */
const leavingZeros =
  (parameter: string, isReadAgain: boolean) =>
  (program: Program): Program => {
    const { offset, bytes } = program.persistentTensors.find((one) => one.role === 'gradient' && one.parameter === parameter)!
    const gradient: Address = { space: 'arena', base: offset, strides: [0, 0, 0] }
    const loss: Address = { ...gradient, space: 'stepIo', base: program.step.stepIo.find(({ name }) => name === 'loss')!.offset }
    const buffer = program.buffers.findIndex((one) => one.role === 'persistent' && one.offset === offset)
    const whole = { ...gradient, buffer }
    const first = program.kernels.length
    const added: readonly Instruction[] = [
      { kind: 'launch', kernel: first, operands: [whole] },
      { kind: 'launch', kernel: first + 1, operands: [whole, loss] }
    ]
    return {
      ...program,
      kernels: [...program.kernels, { kind: 'zero', bytes }, { kind: 'sumSquares', count: 1 }],
      step: { ...program.step, code: [...program.step.code, ...added.slice(0, isReadAgain ? 2 : 1)] }
    }
  }

/** Rows that begin elsewhere. */
const moved = ({ images, rows: [from, to] }: ImageRanges, by: number): ImageRanges => ({ images, rows: [from + by, to] })

type Launch = Extract<Instruction, { readonly kind: 'launch' }>
type Box = Extract<Program['kernels'][number], { readonly kind: 'copyBox' }>

for (const [what, programs, sentence] of [
  [
    'an exchange that a rank leaves out',
    exchanged(0, 1, () => []),
    /source reads bytes 0 \.\. 512 of "rows of a rank", which nothing writes before\.$/
  ],
  [
    'a message of fewer bytes',
    exchanged(1, 0, (one) => [{ ...one, sends: one.sends.map((sent) => ({ ...sent, bytes: sent.bytes / 2 })) }]),
    /^step: exchange 0 brings 512 bytes of rank 1 to rank 0, which receives 1024\.$/
  ],
  [
    'a message for another rank',
    exchanged(1, 0, (one) => [{ ...one, sends: one.sends.map((sent, place) => ({ ...sent, rank: place + 1 })) }]),
    /brings 0 bytes of rank 1 to rank 0, which receives \d+\.$/
  ],
  [
    'messages out of order',
    exchanged(1, 0, (one) => [{ ...one, sends: [...one.sends].reverse() }]),
    /has a message of \d+ bytes for rank 0 of 3 after that for rank 2\.$/
  ],
  ['an exchange in a loop', exchanged(1, 0, (one) => [{ kind: 'loop', axis: 'H', count: 2, body: [one] }]), /stands in a loop\.$/],
  [
    'exchanges among other ranks',
    exchanged(2, 0, (one) => [{ ...one, ranks: 4 }]),
    /exchange 0 of rank 2 is exchange among 4 ranks, that of rank 0 exchange among 3 ranks\.$/
  ],
  ['Programs of other ranks', [sound[1]!, sound[0]!, sound[2]!], /^the Program of rank 0 of 3 is of rank 1 of 3\.$/],
  ['too few Programs', sound.slice(0, 2), /^the Program of rank 0 of 2 is of rank 0 of 3\.$/],
  [
    'a receive that nothing waits for',
    edited(1, (one) => (one.kind === 'wait' && one.engine === 'compute' ? [] : [one])),
    /nothing has waited for the network engine/
  ],
  [
    'rows that go before they are packed',
    edited(1, (one) => (one.kind === 'wait' && one.engine === 'network' ? [] : [one])),
    /send reads .* of "rows for a rank", but nothing has waited for the compute engine/
  ],
  [
    'a gradient of which a rank leaves zeros',
    ofRank(2, leavingZeros('2.weight', false)),
    /^rank 2 leaves zeros of 2\.weight, which each rank computes of its rows\.$/
  ],
  [
    'zeros of what all compute alike, though they are read again',
    ofRank(2, leavingZeros('7.weight', true)),
    /^rank 2 leaves zeros of 7\.weight, which every rank computes alike\.$/
  ],
  [
    'a head that every rank counts',
    sound.map((program) => ({
      ...program,
      reduce: {
        ...program.reduce!,
        code: program.reduce!.code.map((one) => {
          if (one.kind !== 'allToAll' || one.ranks > 1) return one
          const bytes = one.bytes / 3
          return { ...one, ranks: 3, apart: 1, bytes, sendStride: bytes, receiveStride: bytes }
        })
      }
    })),
    /^the gradient of 7\.weight is exchanged among 3 ranks, not among one rank\.$/
  ],
  [
    "rows that are two ranks'",
    ofRank(1, (program) => ({
      ...program,
      buffers: program.buffers.map((buffer) =>
        buffer.share?.kind === 'part' && buffer.role === 'boundary'
          ? { ...buffer, share: { ...buffer.share, own: moved(buffer.share.own, -1) } }
          : buffer
      )
    })),
    /^row \d+ of the output of 1 is not just one rank's\.$/
  ],
  [
    'a gradient that is seeded beyond its rows',
    ofRank(1, (program) => ({
      ...program,
      buffers: program.buffers.map((buffer) =>
        buffer.share?.kind === 'part' && buffer.role === 'output-gradient'
          ? { ...buffer, share: { ...buffer.share, own: moved(buffer.share.own, 1) } }
          : buffer
      )
    })),
    /^step: what goes to other ranks leaves out bytes \d+ \.\. \d+ of "the gradient of the output of 4"\.$/
  ]
] as const)
  test(`Programs are refused with ${what}`, () => assert.match(sentenceOf(programs), sentence))

/** The first copy of a Program's step that packs rows for others, or takes theirs, by position. */
const packing = (side: 'sends' | 'receives') => (program: Program) => {
  const of = program.step.code.flatMap((one) => (one.kind === 'exchange' ? one[side].map(({ at }) => at.base) : []))
  const packed = side === 'sends' ? 1 : 0
  return program.step.code.findIndex(
    (one) => one.kind === 'launch' && program.kernels[one.kernel]!.kind === 'copyBox' && of.includes(one.operands[packed]!.base)
  )
}

/** These Programs, of which a rank's first copy of a side is changed. */
const withCopy = (rank: number, side: 'sends' | 'receives', change: (copy: Launch, program: Program) => readonly [Launch, Program]) =>
  ofRank(rank, (program) => {
    const at = packing(side)(program)
    const [copy, changed] = change(program.step.code[at] as Launch, program)
    return { ...changed, step: { ...changed.step, code: program.step.code.with(at, copy) } }
  })

/** A copy whose operand in a tensor begins so many bytes further. */
const movedBy =
  (operand: 0 | 1, bytes: number) =>
  (copy: Launch, program: Program): readonly [Launch, Program] => [
    { ...copy, operands: copy.operands.with(operand, { ...copy.operands[operand]!, base: copy.operands[operand]!.base + bytes }) },
    program
  ]

/** Bytes of a row of 32 pixels in float64. */
const row = 32 * 8

for (const [what, programs, sentence] of [
  [
    'other rows than are taken',
    withCopy(1, 'sends', movedBy(0, row)),
    /^step: what exchange 0 brings of rank 1 to rank 0 is rows \d+ \.\. \d+ of images 0 \.\. 1 of "the output of 1", and is taken as rows \d+ \.\. \d+ of images 0 \.\. 1 of "the output of 1"$/
  ],
  [
    'parts of rows',
    withCopy(1, 'sends', movedBy(0, 8)),
    /^step: what exchange 0 brings of rank 1 to rank 0 is packed by no one copy of whole rows$/
  ],
  [
    'rows that are added where they are taken',
    withCopy(0, 'receives', (copy, program) => [
      { ...copy, kernel: program.kernels.length },
      { ...program, kernels: [...program.kernels, { ...(program.kernels[copy.kernel] as Box), add: 1 }] }
    ]),
    /^step: what exchange 0 brings of rank 1 to rank 0 is rows .* of "the output of 1", and is added there$/
  ]
] as const)
  test(`Programs of ranks do not go together that exchange ${what}`, () => {
    const together = verifyRanks(programs)
    assert.match(isLeft(together) ? together.left.message.replace(/\.$/, '') : '', sentence)
  })

/** A rank's Program whose step has other instructions, and one more kernel. */
const withStep = (
  rank: number,
  change: (code: readonly Instruction[], program: Program) => readonly Instruction[],
  more: (program: Program) => Kernel = () => ({ kind: 'zero', bytes: 8 })
): Program => {
  const program = sound[rank]!
  return {
    ...program,
    kernels: [...program.kernels, more(program)],
    step: { ...program.step, code: change(program.step.code, program) }
  }
}

const isCopy = (program: Program, one: Instruction | undefined): one is Launch =>
  one?.kind === 'launch' && program.kernels[one.kernel]!.kind === 'copyBox'

const nameOf = ({ buffers }: Program, { operands }: Launch, operand: 0 | 1): string => buffers[operands[operand]!.buffer!]!.name

/** The positions of copies from one buffer to another, by their names. */
const copiesOf = (program: Program, from: RegExp, to: RegExp): readonly number[] =>
  [...program.step.code.entries()].flatMap(([at, one]) =>
    isCopy(program, one) && from.test(nameOf(program, one, 0)) && to.test(nameOf(program, one, 1)) ? [at] : []
  )

const sum = /^the output of 6$/
const gathered = /^statistics of all ranks$/

/** Whether all ranks gather here what each has in a buffer of such a name. */
const isGatheringOf = ({ buffers }: Program, one: Instruction, name: RegExp): boolean =>
  one.kind === 'allToAll' && name.test(buffers[one.send.buffer!]!.name)

/** A Program with a buffer, used outside of loops, in a place behind all others, larger or not. */
const movedApart = (program: Program, index: number, more = 0): Program => {
  const { offset, bytes } = program.buffers[index]!
  const place = Math.ceil(program.peakBytes / 64) * 64
  const apart = <A extends { readonly base: number; readonly buffer?: number }>(at: A): A =>
    at.buffer === index ? { ...at, base: at.base + place - offset } : at
  const code = program.step.code.map((one): Instruction => {
    if (one.kind === 'launch') return { ...one, operands: one.operands.map(apart) }
    if (one.kind === 'allToAll') return { ...one, send: apart(one.send), receive: apart(one.receive) }
    if (one.kind !== 'exchange') return one
    return { ...one, sends: one.sends.map((message) => ({ ...message, at: apart(message.at) })) }
  })
  const buffers = program.buffers.with(index, { ...program.buffers[index]!, offset: place, bytes: bytes + more })
  return { ...program, buffers, peakBytes: place + bytes + more, step: { ...program.step, code } }
}

/** The second rank's Program, which takes one of the copies of which its sum is made otherwise. */
const summedOtherwise = (which: 0 | 1, changes: Partial<Box>): Program => {
  const copyIn = (program: Program): Launch => program.step.code[copiesOf(program, gathered, sum)[which]!] as Launch
  return withStep(
    1,
    (code, program) => code.map((one) => (one === copyIn(program) ? { ...copyIn(program), kernel: program.kernels.length } : one)),
    (program) => ({ ...(program.kernels[copyIn(program).kernel] as Box), ...changes })
  )
}

/** Packs the gradient of an output for others when it is zero, before the tiles that add to it. */
const packedBeforeTiles = (): Program => {
  const request = requestFor(layers, [segment(0, 2), segment(2, 5, 2), segment(5, 7), segment(7, 9)], { shard: { count: 3, index: 1 } })
  const { program } = must(stage(request))
  const { code } = program.step
  const at = copiesOf(program, /^the gradient of the output of 1$/, /^rows for a rank$/)[0]!
  const [gradient, packed] = (code[at] as Launch).operands.map(({ buffer }) => buffer!) as [number, number]
  const zeroed = code.findIndex((one) => one.kind === 'launch' && one.operands[0]!.buffer === gradient)
  const early = [...code.slice(0, zeroed + 1), code[at]!, ...code.slice(zeroed + 1, at), ...code.slice(at + 1)]
  return movedApart({ ...program, step: { ...program.step, code: early } }, packed)
}

/** Gathers a sum once more when all is done, in places that nothing else has. */
const gatheredAgain = (): Program => {
  const gatheringOf = (program: Program): AllToAll => program.step.code.find((one) => isGatheringOf(program, one, sum)) as AllToAll
  const { send, receive } = gatheringOf(sound[1]!)
  const apart = movedApart(movedApart(sound[1]!, send.buffer!), receive.buffer!)
  return { ...apart, step: { ...apart.step, code: [...apart.step.code, gatheringOf(apart)] } }
}

for (const [what, program, sentence] of [
  [
    'zeros over rows that are packed',
    withStep(1, (code, program) => {
      const at = packing('sends')(program)
      const { operands } = code[at] as Launch
      const zero: Launch = { kind: 'launch', kernel: program.kernels.length, operands: [operands[1]!] }
      return code.toSpliced(at + 1, 0, zero)
    }),
    /writes over "rows for a rank" before it is sent/
  ],
  [
    'rows that are packed before all of them are made',
    packedBeforeTiles(),
    /writes to "the gradient of the output of 1" behind what is packed of it for other ranks/
  ],
  [
    'a sum of which not all parts are added',
    withStep(1, (code, program) => {
      const [, others] = copiesOf(program, gathered, sum)
      return code.filter((_, at) => at !== others)
    }),
    /uses "the output of 6" before the parts of all ranks are added/
  ],
  [
    'a sum in another order',
    withStep(1, (code, program) => {
      const [first, others] = copiesOf(program, gathered, sum) as readonly [number, number]
      return code.with(first, code[others]!).with(others, code[first]!)
    }),
    /adds parts of "the output of 6" in another order than of ranks/
  ],
  [
    "a sum of other ranks' parts alone",
    withStep(1, (code, program) => {
      const [first, others] = copiesOf(program, gathered, sum) as readonly [number, number]
      const { operands, ...launch } = code[others] as Launch
      const [from, to] = operands as readonly [Launch['operands'][number], Launch['operands'][number]]
      return code.with(others, { ...launch, operands: [{ ...from, base: (code[first] as Launch).operands[0]!.base }, to] })
    }),
    /adds parts of "the output of 6" in another order than of ranks/
  ],
  [
    "a sum whose first part is added to this rank's own",
    summedOtherwise(0, { add: 1 }),
    /destination adds parts of "the output of 6" in another order than of ranks\.$/
  ],
  [
    "a sum that other ranks' parts are written over",
    summedOtherwise(1, { add: 0 }),
    /destination adds parts of "the output of 6" in another order than of ranks\.$/
  ],
  [
    'a sum that is changed before its parts are added',
    withStep(1, (code, program) => {
      const [first] = copiesOf(program, gathered, sum) as readonly [number]
      const zero: Launch = { kind: 'launch', kernel: program.kernels.length, operands: [(code[first] as Launch).operands[1]!] }
      return code.toSpliced(first, 0, zero)
    }),
    /uses "the output of 6" before the parts of all ranks are added/
  ],
  [
    'a sum of which half is gathered again',
    withStep(1, (code, program) => {
      const at = code.findIndex((one) => isGatheringOf(program, one, sum))
      const gathering = code[at] as AllToAll
      return code.toSpliced(at + 1, 0, { ...gathering, bytes: gathering.bytes / 2 })
    }),
    /\(allToAll\): send does not bring all of "the output of 6" of all ranks in their order\.$/
  ],
  ['a sum that is gathered and not added', gatheredAgain(), /^step: leaves out parts of "the output of 6" of some ranks\.$/],
  [
    'a sum of its own part alone',
    withStep(1, (code, program) => {
      const copies = copiesOf(program, gathered, sum)
      return code.filter((one, at) => !copies.includes(at) && !isGatheringOf(program, one, sum))
    }),
    /leaves this rank's part alone of "the output of 6"/
  ]
] as const)
  test(`A rank's Program is refused with ${what}`, () => {
    const verified = verify(program)
    assert.match(isLeft(verified) ? verified.left.message : 'nothing is wrong', sentence)
  })

/** Programs of ranks that share images, and rows of each, of a batch of two. */
const imagePrograms = (count: number): readonly Program[] =>
  Array.from({ length: count }, (_, index) => {
    const request = requestFor(normalising, [segment(0, 1), segment(1, 5, 2), segment(5, 7)], { shard: { count, index, images: 2 } })
    return must(stage({ ...request, model: { ...request.model, input: [2, 3, 64, 32] } })).program
  })

for (const count of [2, 4])
  test(`Programs of ${count} ranks that share images are sound, and refused with images that no rank has`, () => {
    const programs = imagePrograms(count)
    assert.is(sentenceOf(programs), 'nothing is wrong')
    const withOwn = (isOf: (rank: number) => boolean, own: Partial<ImageRanges>): readonly Program[] =>
      programs.map((program, rank) => ({
        ...program,
        buffers: program.buffers.map((buffer) =>
          isOf(rank) && buffer.share?.kind === 'part' && buffer.role === 'boundary'
            ? { ...buffer, share: { ...buffer.share, own: { ...buffer.share.own, ...own } } }
            : buffer
        )
      }))
    const withImages = (images: ImageRanges['images']): string => sentenceOf(withOwn((rank) => rank >= count / 2, { images }))
    assert.is(withImages([0, 2]), "image 0 of the output of 0 is not just one rank's.")
    assert.is(withImages([1, 1]), "image 1 of the output of 0 is no rank's.")
    const rows = [count === 2 ? 0 : 32, 63] as const
    assert.is(sentenceOf(withOwn((rank) => rank === count / 2 - 1, { rows })), "row 63 of the output of 0 is no rank's.")
  })

/** Programs of groups of two ranks that normalise, whose groups share micro-batches. */
const groupedPrograms = [0, 1].map(
  (index) =>
    must(
      stage(
        requestFor(normalising, [segment(0, 1), segment(1, 5, 2), segment(5, 7)], { shard: { count: 2, index }, ranks: 2, accumulate: 4 })
      )
    ).program
)

test('Programs of groups of ranks are sound as they come', () => {
  assert.is(sentenceOf(groupedPrograms), 'nothing is wrong')
  for (const { shard } of groupedPrograms) assert.is(shard!.groups, 2)
})

/** Changes a section of the second of two ranks, or of both. */
const groupedEdited = (section: 'step' | 'reduce' | 'update', change: Change, ofBoth = true): readonly Program[] =>
  groupedPrograms.map((program, rank) =>
    ofBoth || rank === 1 ? { ...program, [section]: { ...program[section]!, code: program[section]!.code.flatMap(change) } } : program
  )

const amongRanks =
  (ranks: number): Change =>
  (one) => [one.kind === 'allToAll' ? { ...one, ranks, apart: 1 } : one]

for (const [what, programs, sentence] of [
  ['gradients that are added in a group alone', groupedEdited('reduce', amongRanks(2)), /exchanges are with 2 and with 4 ranks\.$/],
  [
    'gradients of which a group is added and gathered alone',
    groupedEdited('reduce', amongRanks(2)).map((program) => ({
      ...program,
      update: { ...program.update!, code: program.update!.code.flatMap(amongRanks(2)) }
    })),
    /^the gradient of 5\.weight is exchanged among 2 ranks, not among 2 ranks that are 2 apart\.$/
  ],
  [
    'statistics that all groups exchange',
    groupedEdited('step', amongRanks(4)),
    /receive reaches bytes 0 \.\. 384 of "statistics of all ranks", which has 192\.$/
  ],
  [
    'rows that all groups exchange',
    groupedEdited('step', (one) => [one.kind === 'exchange' ? { ...one, ranks: 4 } : one]),
    /^step: exchange \d is among 4 ranks of 2\.$/
  ],
  [
    'moments that a group has not merged',
    groupedEdited('step', (one) =>
      one.kind === 'launch' && groupedPrograms[1]!.kernels[one.kernel]!.kind === 'mergeMoments' ? [] : [one]
    ),
    /before what ranks have of it is merged\.$/
  ],
  [
    'moments that are zero again when all have them',
    groupedPrograms.map((program): Program => {
      const buffer = program.buffers.findIndex(({ name }) => name === 'moments of 1')
      const { offset, bytes } = program.buffers[buffer]!
      const zero: Launch = {
        kind: 'launch',
        kernel: program.kernels.length,
        operands: [{ space: 'arena', base: offset, strides: [0, 0, 0], buffer }]
      }
      return {
        ...program,
        kernels: [...program.kernels, { kind: 'zero', bytes }],
        step: { ...program.step, code: [...program.step.code, zero] }
      }
    }),
    /^step: leaves this rank's part alone of "moments of 1"\.$/
  ],
  [
    'moments that other groups do not get',
    groupedEdited('reduce', (one) => (one.kind === 'allToAll' && one.sendStride === 0 ? [] : [one])),
    /^reduce: byte 0 of "moments of 1" is not sent once\.$/
  ]
] as const)
  test(`Programs of groups are refused with ${what}`, () => assert.match(sentenceOf(programs), sentence))

test('ranks that compute a gradient alike send each its own slices where each updates its own', () => {
  const objective = { ranks: 2, accumulate: 4, shardOptimizer: true } as const
  const slicing = [0, 1].map(
    (index) =>
      must(stage(requestFor(normalising, [segment(0, 1), segment(1, 5, 2), segment(5, 7)], { shard: { count: 2, index }, ...objective })))
        .program
  )
  assert.is(sentenceOf(slicing), 'nothing is wrong')
  const headSent = (change: (one: AllToAll) => Partial<AllToAll>): readonly Program[] =>
    slicing.map((program) => ({
      ...program,
      reduce: {
        ...program.reduce!,
        code: program.reduce!.code.map((one) => (one.kind === 'allToAll' && one.apart === 2 ? { ...one, ...change(one) } : one))
      }
    }))
  const ofOther = headSent(({ send, bytes }) => ({ send: { ...send, base: send.base + bytes } }))
  assert.match(sentenceOf(ofOther), /^reduce: byte 0 of "gradient\.\d\.(weight|bias)" is not sent once\.$/)
  const dense = headSent(({ bytes }) => ({ sendStride: bytes }))
  assert.is(sentenceOf(dense), 'reduce: byte 0 of "gradient.5.weight" is not sent once.')
})

const inGroups = (program: Program, groups: number): Program => ({ ...program, shard: { ...program.shard!, groups } })

test('Programs of as many groups as exchange go together', () => {
  const [first, second] = [groupedPrograms[0]!, groupedPrograms[1]!]
  assert.is(sentenceTogether([first, inGroups(second, 3)]), 'rank 1 is of 3 groups where rank 0 is of 2.')
  const others = groupedPrograms.map((program) => inGroups(program, 3))
  assert.is(sentenceTogether(others), 'reduce: exchange 0 is among 4 ranks of 6.')
  const headAlone = others.map((program) => ({
    ...program,
    reduce: { ...program.reduce!, code: program.reduce!.code.filter((one) => one.kind === 'allToAll' && one.apart === 2) }
  }))
  assert.is(sentenceTogether(headAlone), 'reduce: exchange 0 is among 2 ranks of 3.')
  const further = groupedEdited('reduce', (one) => [one.kind === 'allToAll' && one.apart === 2 ? { ...one, apart: 3 } : one])
  assert.match(sentenceTogether(further), /^reduce: exchange \d is among ranks that are 3 apart, in groups of 2\.$/)
})

const soundNormalising = normalisingPrograms(3)
const kindOf = (one: Instruction): string => (one.kind === 'launch' ? soundNormalising[1]!.kernels[one.kernel]!.kind : one.kind)

/** Changes the step of the second of three ranks that normalise. */
const normalisingEdited = (change: (code: readonly Instruction[]) => readonly Instruction[]): readonly Program[] =>
  soundNormalising.map((program, rank) =>
    rank === 1 ? { ...program, step: { ...program.step, code: change(program.step.code) } } : program
  )

/** All ranks' moments and as many zeros, of which those of the first rank are not merged. */
const mergedFromTheSecond = (program: Program): Program => {
  const isMerge = (one: Instruction): one is Launch => kindOf(one) === 'mergeMoments'
  const merge = program.step.code.find(isMerge)!
  const { buffer, bytes } = { buffer: merge.operands[0]!.buffer!, bytes: program.buffers[merge.operands[1]!.buffer!]!.bytes }
  const apart = movedApart(program, buffer, bytes)
  const at = apart.buffers[buffer]!.offset
  const zero: Launch = { kind: 'launch', kernel: program.kernels.length, operands: [{ ...merge.operands[0]!, base: at + 3 * bytes }] }
  const code = apart.step.code.map((one) => {
    if (!isMerge(one)) return one
    return { ...one, operands: one.operands.with(0, { ...one.operands[0]!, base: at + bytes }) }
  })
  return { ...apart, kernels: [...program.kernels, { kind: 'zero', bytes }], step: { ...apart.step, code: [zero, ...code] } }
}

/** The code without the first instruction of a kind. */
const without =
  (kind: string) =>
  (code: readonly Instruction[]): readonly Instruction[] => {
    const at = code.findIndex((one) => kindOf(one) === kind)
    return code.filter((_, place) => place !== at)
  }

for (const [what, programs, sentence] of [
  ['moments of its own rows alone', normalisingEdited(without('mergeMoments')), /before what ranks have of it is merged\.$/],
  ["sums of its own rows' gradients alone", normalisingEdited(without('addSums')), /before what ranks have of it is merged\.$/],
  [
    'moments that are merged before all are gathered',
    normalisingEdited((code) => {
      const merging = code.find((one) => kindOf(one) === 'mergeMoments')!
      const rest = without('mergeMoments')(code)
      const gathering = rest.findIndex(({ kind }) => kind === 'allToAll')
      return [...rest.slice(0, gathering), merging, ...rest.slice(gathering)]
    }),
    /source reads bytes \d+ .. \d+ of "statistics of all ranks", which nothing writes before\.$/
  ],
  [
    'moments that are merged twice',
    normalisingEdited((code) => code.flatMap((one) => (kindOf(one) === 'mergeMoments' ? [one, one] : [one]))),
    /moments is not of what all ranks have of "moments of 1"\.$/
  ],
  [
    'moments that are merged in each iteration of a loop',
    normalisingEdited((code) =>
      code.map((one): Instruction => (kindOf(one) === 'mergeMoments' ? { kind: 'loop', axis: 'H', count: 2, body: [one] } : one))
    ),
    /moments is not of what all ranks have of "moments of 1"\.$/
  ],
  [
    'moments that are merged from those of the second rank on',
    soundNormalising.map((program, rank) => (rank === 1 ? mergedFromTheSecond(program) : program)),
    /\(mergeMoments\): moments is not of what all ranks have of "moments of 1"\.$/
  ],
  [
    'moments that are overwritten before they are merged',
    normalisingEdited((code) =>
      code.flatMap((one) => {
        if (kindOf(one) !== 'mergeMoments' || one.kind !== 'launch') return [one]
        const zero = code.find((other): other is typeof one => other.kind === 'launch' && kindOf(other) === 'zero')!
        return [{ ...zero, operands: [one.operands[0]!] }, one]
      })
    ),
    /moments is not of what all ranks have of "moments of 1"\.$/
  ],
  [
    'moments of fewer ranks',
    soundNormalising.map((program) => ({
      ...program,
      kernels: program.kernels.map((kernel) => (kernel.kind === 'mergeMoments' ? { ...kernel, parts: 2 } : kernel))
    })),
    /is of 2 parts of 96 bytes, where 3 ranks have 96 bytes of "moments of 1"\.$/
  ],
  [
    'moments of which half are gathered again',
    normalisingEdited((code) => {
      const at = code.findIndex((one) => isGatheringOf(soundNormalising[1]!, one, /^moments of 1$/))
      const gathering = code[at] as AllToAll
      return code.toSpliced(at + 1, 0, { ...gathering, bytes: gathering.bytes / 2 })
    }),
    /\(allToAll\): send does not bring all of "moments of 1" of all ranks in their order\.$/
  ],
  [
    'gradients of parameters of what all ranks have',
    normalisingEdited((code) => {
      const making = code.find((one) => kindOf(one) === 'normaliseParameters')!
      const rest = without('normaliseParameters')(code)
      const merged = rest.findIndex((one) => kindOf(one) === 'addSums')
      return [...rest.slice(0, merged + 1), making, ...rest.slice(merged + 1)]
    }),
    /sums reads what all ranks have of "sums of 1"\.$/
  ],
  [
    'statistics that only others merge',
    soundNormalising.map((program, rank) => (rank === 1 ? { ...program, shard: { ...program.shard!, merged: [] } } : program)),
    /sends "moments of 1", which nothing has packed\.$/
  ]
] as const)
  test(`Programs that normalise are refused with ${what}`, () => assert.match(sentenceOf(programs), sentence))

const poolingPrograms = Array.from(
  { length: 3 },
  (_, index) =>
    must(
      stage(
        requestFor([conv2d({ out: 4, k: 3, p: 1 }), globalMaxPool, linear({ out: 2 })], [segment(0, 2, 2), segment(2, 4)], {
          shard: { count: 3, index }
        })
      )
    ).program
)

test('Programs of ranks that pool the largest of all rows are sound, and merge their maxima', () => {
  assert.is(sentenceOf(poolingPrograms), 'nothing is wrong')
  for (const { shard } of poolingPrograms) assert.equal(shard!.merged, ['maxima of 1'])
})

/** Changes the step of the second of three ranks that pool. */
const poolingEdited = (change: (code: readonly Instruction[], program: Program) => Program): readonly Program[] =>
  poolingPrograms.map((program, rank) => (rank === 1 ? change(program.step.code, program) : program))

const isMerge = ({ kernels }: Program, one: Instruction): boolean => one.kind === 'launch' && kernels[one.kernel]!.kind === 'mergeMaxima'

for (const [what, programs, sentence] of [
  [
    'maxima of its own rows alone',
    poolingEdited((code, program) => ({ ...program, step: { ...program.step, code: code.filter((one) => !isMerge(program, one)) } })),
    /source reads this rank's part alone of "the output of 1"\.$/
  ],
  [
    'maxima that are merged twice',
    poolingEdited((code, program) => ({
      ...program,
      step: { ...program.step, code: code.flatMap((one) => (isMerge(program, one) ? [one, one] : [one])) }
    })),
    /maxima is not of what all ranks have of "maxima of 1"\.$/
  ],
  [
    'maxima that are added up',
    poolingEdited((code, program) => ({
      ...program,
      kernels: [...program.kernels, { kind: 'addSums', count: 8, parts: 3 }],
      step: {
        ...program.step,
        code: code.map((one) =>
          one.kind === 'launch' && isMerge(program, one)
            ? { ...one, kernel: program.kernels.length, operands: one.operands.slice(0, 2) }
            : one
        )
      }
    })),
    /is made of "maxima of 1" as mergeMaxima would not\.$/
  ],
  [
    'maxima of fewer ranks',
    poolingEdited((_, program) => ({
      ...program,
      kernels: program.kernels.map((kernel) => (kernel.kind === 'mergeMaxima' ? { ...kernel, parts: 2 } : kernel))
    })),
    /is of 2 parts of 64 bytes, where 3 ranks have 64 bytes of "maxima of 1"\.$/
  ]
] as const)
  test(`Programs that pool are refused with ${what}`, () => assert.match(sentenceOf(programs), sentence))

for (const [what, given, shard, sentence] of [
  ['more ranks than rows', layers, { count: 65, index: 0 }, '65 ranks cannot share the 64 rows of an image; start fewer'],
  ['a rank that is none', layers, { count: 2, index: 2 }, 'there is no rank 2 of 2 that share rows']
] as const)
  test(`rows are not shared with ${what}`, () => {
    const staged = stage(requestFor(given, [segment(0, given.length + 1)], { shard }))
    assert.ok(isLeft(staged) && staged.left.message.includes(sentence), isLeft(staged) ? staged.left.message : 'staged')
  })

test('a segment with fewer rows than the tiles of all ranks is refused', () => {
  const staged = stage(requestFor(layers, [segment(0, 2, 64), segment(2, 9)], { shard: { count: 2, index: 0 } }))
  assert.ok(isLeft(staged))
  assert.is(
    staged.left.message,
    'segment 0..2: some tiles would have no row, or see nothing but padding; take fewer tiles, or fewer ranks.'
  )
})

test.run()
