/** Programs by hand in which something is overwritten while it is needed, beside sound ones. */
import { isLeft } from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { verify, type Kernel } from '../../../staging'
import type { Address } from '../../../staging/program/address'
import type { Instruction, Program } from '../../../staging/program/program'
import type { ProgramBuffer } from '../../../staging/program/program-buffer'
import { convolution, copy, launch, loop, none, programOf, record, stepIo, swap, wait } from '../../native/program'

const size = 256
const buffer = (name: string, offset: number, bytes = size, role: ProgramBuffer['role'] = 'local'): ProgramBuffer => ({
  ...{ name, offset, bytes, role },
  kind: 'workspace'
})

const zero = 0
const copyAll = 1
const kernels: readonly Kernel[] = [{ kind: 'zero', bytes: size }, copy(size / 8)]

/** Sections over these buffers, of which the code gets the places. */
const program = (
  buffers: readonly ProgramBuffer[],
  code: (...places: readonly Address[]) => Partial<Record<'step' | 'restore' | 'save' | 'evaluate', readonly Instruction[]>>,
  more: Partial<Program> = {}
): Program => {
  const places = buffers.map(({ offset }, index): Address => ({ space: 'arena', base: offset, strides: [0, 0, 0], buffer: index }))
  const sections = Object.entries(code(...places)).map(([name, code]) => {
    const stepIo = [{ name: 'values', type: 'float64', shape: [size / 8], offset: 0 }]
    return [name, { code, stepIoBytes: size, stepIo }] as const
  })
  const peakBytes = Math.max(...buffers.map(({ offset, bytes }) => offset + bytes))
  return { ...programOf({ kernels, code: [], buffers, peakBytes }), ...Object.fromEntries(sections), ...more }
}

const sentenceOf = (one: Program): string => {
  const verified = verify(one)
  return isLeft(verified) ? verified.left.message : 'nothing is wrong'
}

/** A state that is restored and saved, and an evaluation that does not touch it. */
const evaluating = (otherAt: number, more: Partial<Program> = {}): Program =>
  program(
    [buffer('velocity', 0, size, 'persistent'), buffer('other', otherAt)],
    (velocity, other) => ({
      restore: [launch(copyAll, stepIo(0), velocity!)],
      step: [launch(copyAll, velocity!, stepIo(0))],
      save: [launch(copyAll, velocity!, stepIo(0))],
      evaluate: [launch(zero, other!), launch(copyAll, other!, stepIo(0))]
    }),
    more
  )

/** The state as a tensor that lives across sections. */
const stateAt = (offset: number, more: { readonly onHost?: true } = {}): Partial<Program> => ({
  persistentTensors: [
    {
      ...{ name: 'velocity', role: 'velocity', parameter: 'weight', shape: [size / 8], layout: 'plain', groups: 1 },
      ...more,
      offset,
      bytes: size
    }
  ]
})

/** A value that each iteration reads, and one that lives in each alone. */
const looping = (insideAt: number): Program =>
  program([buffer('before', 0), buffer('inside', insideAt)], (before, inside) => ({
    step: [
      launch(zero, before!),
      loop('H', 2, launch(copyAll, before!, stepIo(0)), launch(zero, inside!), launch(copyAll, inside!, stepIo(0)))
    ]
  }))

/** A value that iterations make by parts, and one that lives in each alone. */
const looped = (insideAt: number): Program =>
  program(
    [buffer('behind', 0), buffer('inside', insideAt)],
    (behind, inside) => ({
      step: [
        loop(
          'H',
          2,
          ...[launch(zero, inside!), launch(copyAll, inside!, stepIo(0)), launch(2, stepIo(0), { ...behind!, strides: [0, size / 2, 0] })]
        ),
        launch(copyAll, behind!, stepIo(0))
      ]
    }),
    { kernels: [...kernels, copy(size / 16)] }
  )

/** Two values that wait on the host at once. */
const swapping = (secondAt: number): Program =>
  program(
    ['a', 'b', 'a again', 'b again'].map((name, index) => buffer(name, index * size)),
    (a, b, aAgain, bAgain) => {
      const [first, second] = [0, secondAt].map((base, index) => ({ base, strides: [0, 0, 0] as const, buffer: index }))
      return {
        step: [
          ...[launch(zero, a!), launch(zero, b!), record('compute', 0), wait('to-host', 0)],
          ...[swap('to-host', size, a!, first!), swap('to-host', size, b!, second!), record('to-host', 1), wait('to-device', 1)],
          ...[swap('to-device', size, aAgain!, first!), swap('to-device', size, bAgain!, second!)],
          ...[record('to-device', 2), wait('compute', 2), launch(copyAll, aAgain!, stepIo(0)), launch(copyAll, bAgain!, stepIo(0))]
        ]
      }
    },
    { hostBytes: 2 * size, hostBuffers: [buffer('first', 0), buffer('second', secondAt)] }
  )

/** A convolution whose scratch is a buffer of its own, or one that is read behind. */
const convolving = (scratch: 'kept' | 'scratch', role: ProgramBuffer['role'] = 'local'): Program => {
  const [plane, weights] = [3 * 3 * 8, 3 * 3 * 8]
  return program(
    [buffer('source', 0, plane), buffer('weights', 128, weights), buffer('made', 256, plane), buffer('kept', 384, 64)].concat(
      scratch === 'scratch' ? buffer('scratch', 512, 64, role) : []
    ),
    (source, weights, made, kept, own) => ({
      step: [
        ...[launch(2, stepIo(0), source!), launch(2, stepIo(0), weights!), launch(3, stepIo(0), kept!)],
        launch(4, source!, weights!, none, made!, own ?? kept!),
        ...[launch(zero, stepIo(0)), launch(2, made!, stepIo(0)), launch(3, kept!, stepIo(0))]
      ]
    }),
    { kernels: [...kernels, copy(9), copy(8), convolution] }
  )
}

/** Each of four tiles goes from its place to one that all share. */
const gathering = (to: number): Program =>
  program(
    [buffer('a', 0, 1024)],
    (a) => ({
      step: [
        loop('H', 16, launch(2, stepIo(0), { ...a!, strides: [0, 64, 0] })),
        loop('H', 4, launch(2, { ...a!, strides: [0, 64, 0] }, { ...a!, base: to }), launch(2, { ...a!, base: to }, stepIo(0))),
        launch(zero, stepIo(0))
      ]
    }),
    { kernels: [...kernels, copy(8)] }
  )

for (const [what, sound, wrong, sentence] of [
  [
    'a state, where a section does not use it',
    evaluating(size),
    evaluating(size / 2),
    'evaluate: "velocity" and "other" are live at once and share bytes 128 .. 256 of the arena.'
  ],
  [
    'a state, where its buffer is',
    evaluating(size, stateAt(0)),
    evaluating(size, stateAt(64)),
    'the persistent tensor velocity of 256 bytes at 64 has no buffer that lives throughout.'
  ],
  [
    'a state, in the memory where its buffer is',
    evaluating(size, stateAt(0)),
    evaluating(size, stateAt(0, { onHost: true })),
    'the persistent tensor velocity of 256 bytes at 0 has no buffer that lives throughout.'
  ],
  [
    'what the next iteration reads',
    looping(size),
    looping(0),
    'step: "inside" and "before" are live at once and share bytes 0 .. 256 of the arena.'
  ],
  [
    'what an earlier iteration has made',
    looped(size),
    looped(0),
    'step: "behind" and "inside" are live at once and share bytes 0 .. 256 of the arena.'
  ],
  [
    'what waits on the host',
    swapping(size),
    swapping(size / 2),
    'step: "first" and "second" are live at once and share bytes 128 .. 256 of the host pool.'
  ],
  [
    'a value, by what a kernel uses as scratch',
    convolving('scratch'),
    convolving('kept'),
    'step, instruction 3 (convolutionForward): "kept" is scratch and holds a value.'
  ],
  [
    'a state, by what a kernel uses as scratch',
    convolving('scratch'),
    convolving('scratch', 'persistent'),
    'step, instruction 3 (convolutionForward): "scratch" is scratch and holds a value.'
  ],
  [
    'a tile that another iteration reads',
    gathering(512),
    gathering(160),
    'step, instruction 1.0 (copyBox): destination overwrites source in "a" while it is read.'
  ]
] as const)
  test(`nothing overwrites ${what}`, () => {
    assert.is(sentenceOf(sound), 'nothing is wrong')
    assert.is(sentenceOf(wrong), sentence)
  })

test('a state that another section writes, and restoring does not, is refused', () => {
  const wrong = program([buffer('velocity', 0, size, 'persistent')], (velocity) => ({
    restore: [launch(zero, stepIo(0))],
    step: [launch(zero, stepIo(0)), launch(zero, velocity!)],
    evaluate: [launch(copyAll, velocity!, stepIo(0))]
  }))
  assert.is(sentenceOf(wrong), 'evaluate, instruction 0 (copyBox): source reads bytes 0 .. 256 of "velocity", which nothing writes before.')
})

test('a pool of which neither the maxima nor their places are read is refused', () => {
  const wrong = program(
    [buffer('maxima', 0), buffer('indices', size)],
    (maxima, indices) => ({ step: [launch(zero, stepIo(0)), launch(2, stepIo(0), maxima!, indices!)] }),
    { kernels: [...kernels, pool] }
  )
  assert.is(sentenceOf(wrong), 'step, instruction 1 (maxPoolForward): destination writes bytes 0 .. 72 of "maxima", which nothing reads.')
})

test('a buffer before the arena is refused', () => {
  const wrong = program([buffer('value', -size)], () => ({ step: [launch(zero, stepIo(0))] }))
  assert.is(sentenceOf(wrong), 'the buffer "value" has no place in the arena.')
})

const pool: Kernel = {
  ...{ kind: 'maxPoolForward', batch: 1, inChannels: 1, inHeight: 3, inWidth: 3, outHeight: 3, outWidth: 3, layout: 0 },
  ...{ kernelHeight: 3, kernelWidth: 3, strideHeight: 1, strideWidth: 1, dilationHeight: 1, dilationWidth: 1 },
  ...{ padTop: 1, padBottom: 1, padLeft: 1, padRight: 1 }
}

/** One instruction, or a loop, on a buffer that is written whole before, and read behind. */
const within = (code: (a: Address) => readonly Instruction[]): string =>
  sentenceOf(
    program(
      [buffer('a', 0, 2 * size), buffer('weights', 2 * size, 9 * 8)],
      (a, weights) => ({
        step: [
          ...[launch(copyAll, stepIo(0), a!), launch(copyAll, stepIo(0), { ...a!, base: size }), launch(5, stepIo(0), weights!)],
          ...code(a!),
          ...[launch(6, weights!, stepIo(0)), launch(copyAll, a!, stepIo(0))]
        ]
      }),
      {
        kernels: [
          ...kernels,
          { kind: 'rectifierForward', count: 8, slope: 0 },
          { ...copy(8), add: 1 } as Kernel,
          ...[convolution, copy(9), copy(9), pool]
        ]
      }
    )
  )
const [rectify, addTo, convolve, maximise] = [2, 3, 4, 7]
const at = (a: Address, base: number, row = 0): Address => ({ ...a, base, strides: [0, row, 0] })

for (const [what, code, sentence] of [
  ['works element by element in one place', (a) => [launch(rectify, at(a, 0), at(a, 0))], 'nothing is wrong'],
  [
    'works element by element a few further',
    (a) => [launch(rectify, at(a, 0), at(a, 8))],
    'step, instruction 3 (rectifierForward): destination overwrites source in "a" while it is read.'
  ],
  ['works element by element beside what it reads', (a) => [launch(rectify, at(a, 0), at(a, 64))], 'nothing is wrong'],
  [
    'works element by element, and a few further in the next iteration',
    (a) => [loop('H', 2, launch(rectify, at(a, 0), at(a, 0, 8)))],
    'step, instruction 3.0 (rectifierForward): destination overwrites source in "a" while it is read.'
  ],
  [
    'adds to what it reads',
    (a) => [launch(addTo, at(a, 0), at(a, 56))],
    'step, instruction 3 (copyBox): destination overwrites source in "a" while it is read.'
  ],
  [
    'reads neighbours, in one place',
    (a) => [launch(convolve, at(a, 0), { ...a, base: 2 * size, buffer: 1 }, none, at(a, 0), none)],
    'step, instruction 3 (convolutionForward): destination overwrites source in "a" while it is read.'
  ],
  [
    'makes two results in one place',
    (a) => [launch(maximise, stepIo(0), at(a, 0), at(a, 64))],
    'step, instruction 3 (maxPoolForward): destination overwrites indices in "a" while it is read.'
  ]
] as const satisfies readonly (readonly [string, (a: Address) => readonly Instruction[], string])[])
  test(`what ${what}: ${sentence === 'nothing is wrong' ? 'sound' : 'refused'}`, () => assert.is(within(code), sentence))

test.run()
