/**
 * Milliseconds of single launches of pointwise functions, forward and backward, beside a copy of
 * the same bytes (relu), which no function can beat for long:
 *
 *     npx ts-node bench/pointwise.ts [--size 512] [--channels 64] [--rounds 7] [--threads 2]
 *
 * Rounds are interleaved; each figure is the median. `interpreted` is the same function with one
 * step more, which no device has compiled.
 */
import { parseArgs } from 'node:util'
import Table from 'cli-table3'
import * as dsl from '../dsl'
import { createKernelTimer, deviceModel } from '../native'
import type { Kernel } from '../staging/kernels/kernels'
import { activationElements, layoutCode, type Layout } from '../staging/kernels/layout'
import { functionsOf } from '../staging/pointwise/functions'
import { median } from './median'
import { must } from './must'

const { values } = parseArgs({
  options: {
    size: { type: 'string', default: '512' },
    channels: { type: 'string', default: '64' },
    rounds: { type: 'string', default: '7' },
    threads: { type: 'string', default: '2' }
  }
})
const [size, channels, rounds, threads] = [values.size, values.channels, values.rounds, values.threads].map(Number) as [
  number,
  number,
  number,
  number
]

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
    const { forward, backward } = functionsOf(args)
    return {
      name: args.function,
      kernels: [
        { kind: 'pointwiseForward', ...tile, ...alone, expression: forward },
        { kind: 'pointwiseBackward', ...tile, ...alone, expression: backward('input') }
      ]
    }
  })
]

const milliseconds = (kernel: Kernel): number => {
  const [time] = must(timer.milliseconds([kernel]))
  if (typeof time !== 'number') throw new Error(time)
  return time
}

const taken = rows.map((): readonly [number[], number[]] => [[], []])
for (let round = 0; round < rounds; round++)
  rows.forEach(({ kernels }, place) => kernels.forEach((kernel, way) => taken[place]![way]!.push(milliseconds(kernel))))

const table = new Table({ head: ['function', 'forward', 'backward'] })
rows.forEach(({ name }, place) => table.push([name, ...taken[place]!.map((times) => median(times).toFixed(3))]))
console.log(`milliseconds, [1, ${channels}, ${size}, ${size}] in ${layout}, ${threads} threads, median of ${rounds}`)
console.log(table.toString())
