// Pools and resizing on the cpu in its own layouts against the reference: of small planes with
// padding, and of more bytes than caches hold, which are written past them.
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { Kernel } from '../../staging/kernels/kernels'
import { layouts, type Layout } from '../../staging/kernels/layout'
import { launchKernel, stored } from './program'

interface Axis {
  readonly in: number
  readonly out: number
  readonly kernel: number
  readonly stride: number
  readonly pad: number
}

const channels = 16

const windowOf = (rows: Axis, columns: Axis, layout: Layout) => ({
  ...{ batch: 1, inChannels: channels, layout: layouts.indexOf(layout), dilationHeight: 1, dilationWidth: 1 },
  ...{ inHeight: rows.in, outHeight: rows.out, kernelHeight: rows.kernel, strideHeight: rows.stride, padTop: rows.pad },
  ...{ inWidth: columns.in, outWidth: columns.out, kernelWidth: columns.kernel, strideWidth: columns.stride, padLeft: columns.pad },
  padBottom: Math.max(0, (rows.out - 1) * rows.stride + rows.kernel - rows.pad - rows.in),
  padRight: Math.max(0, (columns.out - 1) * columns.stride + columns.kernel - columns.pad - columns.in)
})

/** Numbers with few digits, so that bf16 has them, and equal ones among neighbours. */
const few = (count: number, phase: number): Float32Array => new Float32Array(count).map((_, i) => ((i * 7 + phase) % 61) / 4 - 7)
const zeros = (count: number): Float32Array => new Float32Array(count)

type Precision = 'float32' | 'bf16'

const read = (found: ArrayLike<number>, precision: Precision): ArrayLike<number> => {
  if (precision === 'float32') return found
  const upper = new Uint16Array(new Uint8Array(found).buffer)
  const words = new Uint16Array(2 * upper.length)
  upper.forEach((half, i) => (words[2 * i + 1] = half))
  return new Float32Array(words.buffer)
}

const closeTo = (found: ArrayLike<number>, expected: ArrayLike<number>, tolerance: number, what: string): void => {
  assert.is(found.length, expected.length)
  for (let i = 0; i < found.length; i++)
    if (!(Math.abs(found[i]! - expected[i]!) <= tolerance * (1 + Math.abs(expected[i]!))))
      assert.unreachable(`${what}: element ${i} is ${found[i]}, not ${expected[i]}`)
}

/** 2x2 windows side by side, windows that overlap, a plane that they do not fill, and one of 20. */
const small: readonly (readonly [Axis, Axis])[] = [
  [
    { in: 8, out: 4, kernel: 2, stride: 2, pad: 0 },
    { in: 12, out: 6, kernel: 2, stride: 2, pad: 0 }
  ],
  [
    { in: 9, out: 5, kernel: 3, stride: 2, pad: 1 },
    { in: 11, out: 6, kernel: 3, stride: 2, pad: 1 }
  ],
  [
    { in: 9, out: 3, kernel: 3, stride: 3, pad: 1 },
    { in: 301, out: 101, kernel: 3, stride: 3, pad: 1 }
  ],
  [
    { in: 23, out: 4, kernel: 5, stride: 5, pad: 0 },
    { in: 22, out: 2, kernel: 20, stride: 2, pad: 0 }
  ],
  [
    { in: 300, out: 2, kernel: 200, stride: 100, pad: 0 },
    { in: 150, out: 2, kernel: 140, stride: 10, pad: 0 }
  ]
]

/** More than 32 MiB in float32. */
const large: readonly [Axis, Axis] = [
  { in: 514, out: 257, kernel: 2, stride: 2, pad: 0 },
  { in: 1030, out: 515, kernel: 2, stride: 2, pad: 0 }
]

for (const layout of ['nChw8c', 'nChw16c'] as const)
  for (const precision of ['float32', 'bf16'] as const) {
    const tolerance = precision === 'float32' ? 1e-5 : 2 ** -7
    const both = async (kernel: Kernel, tensors: readonly (Float32Array | number)[]): Promise<void> => {
      const given = tensors.map((tensor) => (typeof tensor === 'number' ? tensor : stored(tensor, precision)))
      const last = tensors.findLastIndex((tensor) => typeof tensor !== 'number')
      const [found, expected] = await Promise.all(
        (['cpu', 'reference'] as const).map(async (device) =>
          read((await launchKernel(kernel, given, { device, precision }))[last]!, precision)
        )
      )
      closeTo(found!, expected!, tolerance, `${kernel.kind} ${layout} ${precision}`)
    }

    /** Forward's winners are numbered as the device likes: each device's own go backward. */
    const maxPool = async (rows: Axis, columns: Axis): Promise<void> => {
      const window = windowOf(rows, columns, layout)
      const [ins, outs] = [channels * rows.in * columns.in, channels * rows.out * columns.out]
      const [source, received] = [stored(few(ins, 1), precision), stored(few(outs, 3), precision)]
      const results = await Promise.all(
        (['cpu', 'reference'] as const).map(async (device) => {
          const blank = device === 'cpu' && rows.kernel * columns.kernel <= 255 ? new Uint8Array(outs) : new Int32Array(outs)
          const [, values, winners] = await launchKernel(
            { kind: 'maxPoolForward', ...window },
            [source, stored(zeros(outs), precision), blank],
            {
              ...{ device, precision }
            }
          )
          const indices = blank instanceof Uint8Array ? new Uint8Array(winners!) : new Int32Array(winners!)
          const [, , gradient] = await launchKernel(
            { kind: 'maxPoolBackward', ...window },
            [received, indices, stored(few(ins, 5), precision)],
            {
              ...{ device, precision }
            }
          )
          return [read(values!, precision), read(gradient!, precision)] as const
        })
      )
      closeTo(results[0]![0], results[1]![0], 0, `maxPoolForward ${layout} ${precision}`)
      closeTo(results[0]![1], results[1]![1], tolerance, `maxPoolBackward ${layout} ${precision}`)
    }

    const pools = async ([rows, columns]: readonly [Axis, Axis]): Promise<void> => {
      const [ins, outs] = [channels * rows.in * columns.in, channels * rows.out * columns.out]
      const window = windowOf(rows, columns, layout)
      const average = { ...window, overhangBottom: 0, overhangRight: 0, countPadding: 0 } as const
      await both({ kind: 'averagePoolForward', ...average }, [few(ins, 1), zeros(outs)])
      await both({ kind: 'averagePoolBackward', ...average }, [few(outs, 2), few(ins, 9)])
      await maxPool(rows, columns)
    }

    test(`small pools are the reference's, ${layout} ${precision}`, async () => {
      for (const one of small) await pools(one)
    })

    test(`a resized plane and its gradient are the reference's, ${layout} ${precision}`, async () => {
      for (const [from, to] of [
        [9, 31],
        [31, 9],
        [1, 300],
        [300, 1],
        [7, 7]
      ] as const)
        for (const bilinear of [0, 1]) {
          const tile = {
            batch: 1,
            channels,
            inHeight: from,
            inWidth: 2 * from,
            outHeight: to,
            outWidth: 2 * to,
            layout: layouts.indexOf(layout)
          }
          const whole = { fullInHeight: from, fullInWidth: 2 * from, fullOutHeight: to, fullOutWidth: 2 * to, bilinear, alignCorners: 0 }
          const [ins, outs] = [channels * 2 * from * from, channels * 2 * to * to]
          await both({ kind: 'resizeForward', ...tile, ...whole }, [few(ins, 1), zeros(outs), 0, 0, 0, 0])
          await both({ kind: 'resizeBackward', ...tile, ...whole }, [few(outs, 1), zeros(ins), 0, 0, 0, 0])
        }
    })

    if (layout === 'nChw16c')
      test(`pools of more than caches hold are the reference's, ${precision}`, async () => {
        // As many bytes in either precision.
        const [rows, columns] = large
        await pools(precision === 'float32' ? large : [rows, { ...columns, in: 2 * columns.in, out: 2 * columns.out }])
        const [height, width] = [600, precision === 'float32' ? 1000 : 2000]
        const tile = { batch: 1, channels, height, width, layout: layouts.indexOf(layout), scale: 1 / 64 }
        await both({ kind: 'globalAveragePoolBackward', ...tile }, [few(channels, 1), zeros(channels * height * width)])
      })
  }

test.run()
