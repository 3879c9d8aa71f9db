/**
 * Milliseconds of single launches of pointwise functions, forward and backward, beside a copy of
 * the same bytes (relu), which no function can beat for long:
 *
 *     npx ts-node bench/pointwise.ts [--size 512] [--channels 64] [--rounds 7] [--threads 2]
 *
 * Rounds are interleaved; each figure is the least, which other work disturbs least. `interpreted`
 * is the same function with one step more, which no device has compiled. With `--against FOLDER`
 * the first five are timed in turn with those of a checkout of commit 9e99d2af or before, where
 * each was a kernel's case in C++; it needs its own addon and `node_modules`.
 */
import { join, resolve } from 'node:path'
import type * as E from 'fp-ts/Either'
import Table from 'cli-table3'
import * as dsl from '../dsl'
import { createKernelTimer, deviceModel } from '../native'
import type { Kernel } from '../staging/kernels/kernels'
import { activationElements, layoutCode, type Layout } from '../staging/kernels/layout'
import { getPointwiseFunctions } from '../staging/pointwise/functions'
import { must } from './must'
import { readCount, readOptions } from './options'

const { values } = readOptions({
  options: {
    size: { type: 'string', default: '512' },
    channels: { type: 'string', default: '64' },
    rounds: { type: 'string', default: '7' },
    threads: { type: 'string', default: '2' },
    against: { type: 'string' }
  }
})
const [size, channels] = [readCount('--size', values.size), readCount('--channels', values.channels)]
const [rounds, threads] = [readCount('--rounds', values.rounds), readCount('--threads', values.threads)]

const choice = { device: 'cpu', precision: 'float32', threads } as const
const timer = must(createKernelTimer(choice))
const layout: Layout = must(deviceModel('cpu', 'float32', threads)).activationLayout(channels, false)
const extents = [1, channels, size, size] as const
const tile = { batch: 1, channels, height: size, width: size, layout: layoutCode(layout) }
const alone = { broadcast: 0, weightPerChannel: 0, biasPerChannel: 0 }
const count = activationElements(layout, extents)

const compiled = [dsl.sigmoid, dsl.tanh, dsl.silu, dsl.gelu, dsl.hardswish, dsl.mish]
const interpreted = [
  dsl.pointwise('silu, interpreted', (x) => x.mul(x.sigmoid()).add(1e-9)),
  dsl.pointwise('gelu, interpreted', (x) => x.mul(x.mul(Math.SQRT1_2).erf().add(1).mul(0.5)).add(1e-9))
]

interface Row {
  readonly name: string
  readonly kernels: readonly [Kernel, Kernel]
}

const rows: readonly Row[] = [
  {
    name: 'relu',
    kernels: [
      { kind: 'rectifierForward', count, slope: 0 },
      { kind: 'rectifierBackward', count, slope: 0 }
    ]
  },
  ...[...compiled, ...interpreted].map(({ args }): Row => {
    const { forward, backward } = getPointwiseFunctions(args)
    return {
      name: args.function,
      kernels: [
        { kind: 'pointwiseForward', ...tile, ...alone, expression: forward },
        { kind: 'pointwiseBackward', ...tile, ...alone, expression: backward('input') }
      ]
    }
  })
]

/** What times kernels, of this checkout or of the one before, whose kernels were others. */
interface Timer {
  readonly milliseconds: (kernels: readonly never[]) => E.Either<{ readonly message: string }, readonly (number | string)[]>
}

const milliseconds = ({ milliseconds: time }: Timer, kernel: object): number => {
  // Each checkout has kernels of its own.
  const [found] = must(time([kernel as never]))
  if (typeof found !== 'number') throw new Error(found)
  return found
}

const timerBefore = (folder: string): Timer => {
  const { openMeter } = require(join(resolve(folder), 'native')) as {
    readonly openMeter: (of: typeof choice) => E.Either<{ readonly message: string }, Timer>
  }
  return must(openMeter(choice))
}

/** The first rows as they were, in the order of the codes that the kernel had. */
const kernelsBefore: readonly (readonly object[])[] = [
  rows[0]!.kernels,
  ...[0, 1, 2, 3].map((code) => ['activationForward', 'activationBackward'].map((kind) => ({ kind, ...tile, function: code })))
]

interface Measured {
  readonly name: string
  readonly timer: Timer
  readonly kernels: readonly object[]
}

const before = values.against === undefined ? undefined : timerBefore(values.against)
const measured: readonly Measured[] = rows.flatMap(({ name, kernels }, place): readonly Measured[] => {
  const then = kernelsBefore[place]
  return [{ name, timer, kernels }, ...(before && then ? [{ name: `${name}, before`, timer: before, kernels: then }] : [])]
})

const taken = measured.map((): readonly [number[], number[]] => [[], []])
for (let round = 0; round < rounds; round++)
  measured.forEach(({ timer: by, kernels }, place) => kernels.forEach((kernel, way) => taken[place]![way]!.push(milliseconds(by, kernel))))

const table = new Table({ head: ['function', 'forward', 'backward'], style: { head: [], border: [] } })
measured.forEach(({ name }, place) => table.push([name, ...taken[place]!.map((times) => Math.min(...times).toFixed(3))]))
console.log(`milliseconds, [1, ${channels}, ${size}, ${size}] in ${layout}, ${threads} threads, the least of ${rounds}`)
console.log(table.toString())
