import * as assert from 'uvu/assert'
import { test } from 'uvu'
import { encodeProgram } from '../../native/session/encode'
import { openEncoded, type EncodedSessionOptions } from '../../native/session/session'
import type { Kernel } from '../../staging/kernels/kernels'
import type { Address } from '../../staging/program/address'
import type { Program } from '../../staging/program/program'
import { must } from '../must'
import { arena, convolution, copy, stepIo, index, launch, left, loop, none, open, programOf, type Written } from './program'

const sound: Written = {
  kernels: [copy(4), convolution],
  code: [loop('H', 4, launch(0, stepIo(0, [0, 32, 0]), arena(0, [0, 32, 0]))), launch(1, arena(0), arena(128), none, arena(256), none)],
  stepIoBytes: 128
}

const options = (): EncodedSessionOptions => ({
  ...encodeProgram(programOf(sound)),
  device: 'reference',
  math: 'float32',
  precision: 'float64',
  arenaBytes: 4096,
  linkBytesPerSecond: 0,
  timesKernels: false,
  traces: false
})

const withCode = (damage: (code: Float64Array) => Float64Array | void): EncodedSessionOptions => {
  const encoded = options()
  const [step, ...others] = encoded.sections
  const code = step!.code.slice()
  return { ...encoded, sections: [{ ...step!, code: damage(code) ?? code }, ...others] }
}

const withKernels = (damage: (kernels: Float64Array) => Float64Array | void): EncodedSessionOptions => {
  const encoded = options()
  const kernels = encoded.kernels.slice()
  return { ...encoded, kernels: damage(kernels) ?? kernels }
}

const set = (position: number, value: number) => (numbers: Float64Array) => {
  numbers[position] = value
}

/** The loop takes 4 numbers; its launch 3, then 5 for each operand. */
const loopAt = { axis: 1, count: 2, length: 3 }
const launchAt = { code: 4, kernel: 5, operands: 6, space: 7, base: 8, strideHeight: 10 }

const cases: readonly (readonly [string, EncodedSessionOptions, string])[] = [
  ['an unknown opcode', withCode(set(0, 99)), 'the unknown code 99'],
  ['an unknown axis', withCode(set(loopAt.axis, 3)), 'the unknown axis 3'],
  ['a loop of no turns', withCode(set(loopAt.count, 0)), 'loops 0 times'],
  ['a loop that is far too long', withCode(set(loopAt.count, 2 ** 53)), 'reaches bytes 0 .. 288230376151711744'],
  ['a body past the end', withCode(set(loopAt.length, 1000)), 'has a body of 1000 numbers'],
  ['a body that cuts its launch', withCode(set(loopAt.length, 5)), 'is cut off'],
  ['code that is cut off', withCode((code) => code.slice(0, -1)), 'is cut off'],
  ['a number that is not whole', withCode(set(launchAt.base, 0.5)), 'is not a whole number'],
  ['a number that is none', withCode(set(launchAt.base, NaN)), 'is not a whole number'],
  ['a load that computes', withCode(set(launchAt.code, 6)), 'loads with copyBox instead of loadImage'],
  ['an unknown kernel', withCode(set(launchAt.kernel, 2)), 'launches kernel 2 of 2'],
  ['a wrong number of operands', withCode(set(launchAt.operands, 3)), 'gives copyBox 3 operands instead of 2'],
  ['an unknown space', withCode(set(launchAt.space, 7)), 'the unknown space 7'],
  ['a missing operand', withCode(set(launchAt.space, 0)), 'source of copyBox, is required'],
  ['an index for an address', withCode(set(launchAt.space, 3)), 'is no index'],
  ['an address below its space', withCode(set(launchAt.base, -8)), 'reaches bytes -8 .. '],
  ['an address past its space', withCode(set(launchAt.base, 8)), "reaches bytes 8 .. 136 of the I/O buffer's 128"],
  ['a stride past its space', withCode(set(launchAt.strideHeight, 40)), 'reaches bytes 0 .. 152'],
  ['an address between elements', withCode(set(launchAt.strideHeight, 4)), 'is not aligned to its elements of 8 bytes'],
  ['a kernel of unknown code', withKernels(set(0, 99)), 'kernel 0 has the unknown code 99'],
  ['a kernel that is cut off', withKernels((kernels) => kernels.slice(0, -1)), 'kernel 1 (convolutionForward) is cut off'],
  ['a negative extent', withKernels(set(4, -4)), 'an extent of the box must be at least 1, not -4'],
  ['an operand that no space holds', withKernels(set(4, 2 ** 53)), 'kernel 0, copyBox, has an operand of 72057594037927936 bytes'],
  ['an infinite extent', withKernels(set(4, Infinity)), 'is not a finite number'],
  ['workspaces of another program', { ...options(), workspaces: Float64Array.of(0) }, 'it has workspaces for 1 kernels instead of 2'],
  ['a workspace below nothing', { ...options(), workspaces: Float64Array.of(0, -8) }, 'a workspace is outside 0 .. 2^46 bytes: -8'],
  ['a workspace of half a byte', { ...options(), workspaces: Float64Array.of(0.5, 0) }, 'a workspace is not a whole number'],
  ['a peak above the arena', { ...options(), arenaBytes: 4000 }, "the program needs 4096 bytes, more than the arena's 4000"],
  ['a negative peak', { ...options(), peakBytes: -1 }, 'peakBytes is outside'],
  ['an input without pixels', { ...options(), input: Float64Array.of(1, 3, 0, 4) }, 'the input has an extent below 1'],
  ['no threads', { ...options(), threads: 0 }, '1 to 1024 threads, not 0']
]

const pool: Kernel = {
  ...{ kind: 'maxPoolForward', batch: 1, inChannels: 1, inHeight: 3, inWidth: 3, outHeight: 3, outWidth: 3, layout: 0 },
  ...{ kernelHeight: 3, kernelWidth: 3, strideHeight: 1, strideWidth: 1, dilationHeight: 1, dilationWidth: 1 },
  ...{ padTop: 1, padBottom: 1, padLeft: 1, padRight: 1 }
}
const launchPool = (indices: Address, buffers: Program['buffers'] = []): Written => ({
  kernels: [pool],
  code: [launch(0, arena(0), arena(128), indices)],
  buffers
})

test('a device that takes more for indices than their buffer has', () => {
  const indices = { ...arena(256), buffer: 0 }
  const buffer = { name: 'indices', offset: 192, role: 'local', kind: 'workspace' } as const
  must(open(launchPool(indices, [{ ...buffer, bytes: 64 + 36 }]))).close()
  assert.ok(
    left(open(launchPool(indices, [{ ...buffer, bytes: 64 + 35 }]))).message.includes(
      'kernel 0, maxPoolForward, takes 36 bytes of indices on this device, where 35 were planned'
    )
  )
})

test('more work than ever ends', () => {
  const turns = (count: number) => [loop('B', 2 ** 16, loop('H', count, launch(0, arena(0), arena(128))))]
  must(open({ kernels: [copy(1)], code: turns(2 ** 16) })).close()
  const sentence = 'is run until more than 2^32 instructions are'
  assert.ok(left(open({ kernels: [copy(1)], code: turns(2 ** 16 + 1) })).message.includes(sentence))
  assert.ok(left(open({ kernels: [copy(1)], code: turns(2 ** 53) })).message.includes(sentence))
  assert.ok(left(open({ kernels: [copy(1)], code: [...turns(2 ** 16), launch(0, arena(0), arena(128))] })).message.includes(sentence))
})

test('the sound program opens', () => must(openEncoded(options())).close())

for (const [name, damaged, sentence] of cases)
  test(name, () => {
    const { code, message } = left(openEncoded(damaged))
    assert.is(code, 'device')
    assert.ok(message.includes(sentence), message)
  })

const rejectsKernel = (name: string, kernel: Kernel, operands: number, sentence: string) =>
  test(name, () => {
    const { message } = left(open({ kernels: [kernel], code: [launch(0, ...Array.from({ length: operands }, () => arena(0)))] }))
    assert.ok(message.includes(sentence), message)
  })

rejectsKernel('an output that does not follow', { ...convolution, outHeight: 4 }, 5, 'height of the output is 4, but the window gives 3')
rejectsKernel('a kernel larger than its input', { ...convolution, kernelWidth: 9 }, 5, "reaches over 9, more than the padded input's 5")
rejectsKernel('groups that divide nothing', { ...convolution, groups: 2 }, 5, '2 groups divide not both')
rejectsKernel('an activation in a layout of weights', { ...convolution, sourceLayout: 4 }, 5, 'OIhw16i16o is no layout of activations')
rejectsKernel('weights in a layout of activations', { ...convolution, weightLayout: 2 }, 5, 'nChw16c is no layout of weights')
rejectsKernel('an unknown layout', { ...convolution, weightLayout: 99 }, 5, "is no layout's code: 99")
rejectsKernel('a negative slope', { kind: 'rectifierForward', count: 4, slope: -0.1 }, 2, 'slope must not be negative')
rejectsKernel('destination rows that overlap', { ...copy(4), n2: 3, destinationStride2: 2 } as Kernel, 2, 'destination rows overlap')

const sgd = { kind: 'sgd', count: 4, rate: 1, weightDecay: 0, momentum: 0 } as const
rejectsKernel('a negative rate', { ...sgd, rate: -0.5 }, 3, 'sgd: rate must not be negative, but is -0.5')
rejectsKernel('a rate that is no number', { ...sgd, rate: NaN }, 3, "sgd: field 'rate' is not a finite number")
const adam = { kind: 'adam', count: 4, rate: 1, weightDecay: 0, beta1: 0.9, beta2: 0.999, epsilon: 1e-8, decoupled: 0 } as const
rejectsKernel('a negative rate of adam', { ...adam, rate: -1 }, 4, 'adam: rate must not be negative, but is -1')
rejectsKernel('a sum over nothing', { kind: 'sumSquares', count: 0 }, 2, 'sumSquares: count must be at least 1, not 0')
rejectsKernel('a norm of 0', { kind: 'clipGradient', count: 4, maxNorm: 0 }, 2, 'clipGradient: maxNorm must be above 0, not 0')
rejectsKernel('no square root', { kind: 'squareRoot', count: 0 }, 2, 'squareRoot: count')
rejectsKernel('an endless norm', { kind: 'clipGradient', count: 4, maxNorm: Infinity }, 2, "field 'maxNorm' is not a finite number")

test('a sum of squares among its summands, or between float64s', () => {
  const sumAt = (sum: number) =>
    open({ kernels: [{ kind: 'sumSquares', count: 4 }], code: [launch(0, arena(0), arena(sum))], precision: 'float32' })
  must(sumAt(16)).close()
  assert.ok(left(sumAt(8)).message.includes('sum of sumSquares, overlaps its source'))
  assert.ok(left(sumAt(20)).message.includes('is not aligned to its elements of 8 bytes'))
})

test('row weights beyond the arena', () => {
  const opened = open({ kernels: [crossEntropy], code: [launch(0, arena(0), arena(64), arena(4088), arena(128))] })
  assert.ok(left(opened).message.includes("rowWeights of softmaxCrossEntropyForward, reaches bytes 4088 .. 4104 of the arena's 4096"))
})

const crossEntropy: Kernel = { kind: 'softmaxCrossEntropyForward', batch: 2, classes: 2, fullBatch: 2 }
const rectifier: Kernel = { kind: 'rectifierForward', count: 4, slope: 0 }

test('a loss over the labels that it is read from', () => {
  const opened = open({ kernels: [crossEntropy], code: [launch(0, arena(0), arena(64), none, arena(64))] })
  assert.ok(left(opened).message.includes('loss of softmaxCrossEntropyForward, overlaps its labels'))
})

test('operands that overlap in some turn of a loop', () => {
  const towards = (count: number) =>
    open({ kernels: [rectifier], code: [loop('W', count, launch(0, arena(0, [0, 0, 32]), arena(320, [0, 0, -32])))] })
  must(towards(5)).close()
  assert.ok(left(towards(6)).message.includes('destination of rectifierForward, overlaps its source'))
})

test('in place is exactly in place', () => {
  must(open({ kernels: [rectifier], code: [launch(0, arena(0), arena(0))] })).close()
  const opened = open({ kernels: [rectifier], code: [launch(0, arena(0), arena(8))] })
  assert.ok(left(opened).message.includes('destination of rectifierForward, overlaps its source'))
})

const dropout: Kernel = {
  kind: 'dropout',
  batch: 1,
  channels: 1,
  height: 2,
  width: 2,
  layout: 0,
  fullChannels: 1,
  fullHeight: 4,
  fullWidth: 4,
  layerKey: 1,
  rate: 0.5
}

test('a tile outside its tensor', () => {
  const opened = open({ kernels: [dropout], code: [loop('H', 3, launch(0, arena(0), arena(0), index(0), index(0, [0, 2, 0]), index(0)))] })
  assert.ok(left(opened).message.includes('rowOrigin of dropout, ranges over 0 .. 4, outside 0 .. 2'))
})

test('a rate of one', () => {
  const opened = open({ kernels: [{ ...dropout, rate: 1 }], code: [] })
  assert.ok(left(opened).message.includes('rate must lie in [0.000000, 1.000000)'))
})

test('a loop inside a loop over the same axis', () => {
  const opened = open({ kernels: [copy(1)], code: [loop('B', 2, loop('B', 2, launch(0, arena(0), arena(8))))] })
  assert.ok(left(opened).message.includes('loops over axis 0 inside a loop over it'))
})

test('convolution weights that the reference device cannot read', () => {
  const opened = open({ kernels: [{ ...convolution, weightLayout: 3 }], code: [], peakBytes: 8192 })
  assert.ok(left(opened).message.includes('plain layouts only'))
})

test('every prefix of a program is rejected or runs nothing that it should not', () => {
  const [step] = options().sections
  for (let length = 0; length < step!.code.length; length++) {
    const opened = openEncoded(withCode((code) => code.slice(0, length)))
    // Only a cut between instructions leaves a program.
    if (opened._tag === 'Right') {
      assert.ok(length === 0 || length === 17, `${length}`)
      opened.right.close()
    }
  }
})

test.run()
