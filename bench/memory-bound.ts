/**
 * Milliseconds of the kernels that multiply no matrices, beside a copy of as many bytes, which none
 * can beat for long:
 *
 *     npx ts-node bench/memory-bound.ts [--models densenet121,deeplabv3_resnet50,unet] [--size 512] [--batch 2] [--precision float32] [--threads 2] [--rounds 5]
 *
 * Of the launches of plain steps, the one with the most bytes of each kind; filling and saving
 * weights is no part of them. Kernels and copies are timed in turn; each figure is the least. Bytes
 * are those that a kernel must read and write once.
 */
import { parseArgs } from 'node:util'
import Table from 'cli-table3'
import { createKernelTimer } from '../native'
import { productFlops, roofline, stage, type Kernel } from '../staging'
import { layouts, weightElements } from '../staging/kernels/layout'
import { elementSizes } from '../staging/kernels/precision'
import { launchCounts } from '../src/plans/program-statistics'
import { must } from './must'
import { requestFor } from './request'

const { values } = parseArgs({
  options: {
    models: { type: 'string', default: 'densenet121,deeplabv3_resnet50,unet' },
    size: { type: 'string', default: '512' },
    batch: { type: 'string', default: '2' },
    precision: { type: 'string', default: 'float32' },
    threads: { type: 'string', default: '2' },
    rounds: { type: 'string', default: '5' }
  }
})
const [size, batch, threads, rounds] = [values.size, values.batch, values.threads, values.rounds].map(Number) as [
  number,
  number,
  number,
  number
]
const precision = values.precision === 'bf16' ? 'bf16' : 'float32'

/** One byte a millisecond, so that time is bytes. */
const bytesAlone = { flopsPerSecond: Infinity, bytesPerSecond: 1000, launchSeconds: 0 }
const bytesOf = (kernel: Kernel): number => {
  if (kernel.kind === 'reorderWeights') {
    // Transformed by Winograd they are four times as many, which the roofline does not count.
    const { outChannels, inChannels, kernelHeight, kernelWidth, groups } = kernel
    const elements = [kernel.sourceLayout, kernel.destinationLayout].map((layout) =>
      weightElements(layouts[layout]!, [outChannels, inChannels / groups, kernelHeight, kernelWidth], groups)
    )
    return 4 * (elements[0]! + elements[1]!)
  }
  return Math.round(roofline(kernel, elementSizes(precision), bytesAlone))
}

/** Of so many bytes in all, read and written, each 4 a parameter. */
const copyOf = (bytes: number): Kernel => {
  const floats = Math.max(1, Math.round(bytes / 8))
  return {
    ...{ kind: 'copyBox', n0: 1, n1: 1, n2: 1, n3: floats, add: 0, ofParameters: 1 },
    ...{ sourceStride0: floats, sourceStride1: floats, sourceStride2: floats },
    ...{ destinationStride0: floats, destinationStride1: floats, destinationStride2: floats }
  }
}

const kernels = values.models
  .split(',')
  .map((model) => must(stage(must(requestFor({ model, size, batch, threads, precision })))).program)
  .flatMap(({ kernels: all, step }) => [...launchCounts(step).keys()].map((place) => all[place]!))
const largest = new Map<string, Kernel>()
for (const kernel of kernels) {
  const known = largest.get(kernel.kind)
  if (productFlops(kernel) === 0 && (known === undefined || bytesOf(kernel) > bytesOf(known))) largest.set(kernel.kind, kernel)
}
const measured = [...largest.values()].sort((a, b) => bytesOf(b) - bytesOf(a))

const timer = must(createKernelTimer({ device: 'cpu', precision, threads }))
const taken = measured.map((): [kernel: number, copy: number] => [Infinity, Infinity])
for (let round = 0; round < rounds; round++)
  measured.forEach((kernel, place) => {
    const times = must(timer.milliseconds([kernel, copyOf(bytesOf(kernel))])).map(Number)
    taken[place] = [Math.min(taken[place]![0], times[0]!), Math.min(taken[place]![1], times[1]!)]
  })

const table = new Table({ head: ['kernel', 'MiB', 'ms', 'copy, ms', 'of a copy'] })
measured.forEach(({ kind }, place) => {
  const [kernel, copy] = taken[place]!
  const mebibytes = bytesOf(measured[place]!) / 2 ** 20
  table.push([kind, mebibytes.toFixed(1), kernel.toFixed(3), copy.toFixed(3), (kernel / copy).toFixed(2)])
})
console.log(`${values.models} at ${batch}x3x${size}x${size}, ${precision}, ${threads} threads, the least of ${rounds}`)
console.log(table.toString())
