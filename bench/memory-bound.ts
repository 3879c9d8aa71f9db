/**
 * Milliseconds of the kernels that multiply no matrices, beside a copy of as many bytes, which none
 * can beat for long:
 *
 *     npx ts-node bench/memory-bound.ts [--models densenet121,deeplabv3_resnet50,unet] [--size 512] [--batch 2] [--precision float32] [--threads 2] [--rounds 5] [--least 128MiB] [--kinds resizeForward,dropout]
 *
 * Of the launches of plain steps, the one with the most bytes of each kind; filling and saving
 * weights is no part of them. Kernels and copies are timed in turn; each figure is the least. Bytes
 * are those that a kernel must read and write once. `least`: what has fewer gets a larger batch,
 * as a network on more images has, so that neither it nor its copy lies in a cache.
 */
import * as E from 'fp-ts/Either'
import Table from 'cli-table3'
import { createKernelTimer } from '../native'
import { productFlops, stage, type Kernel } from '../staging'
import { parseBytes } from '../src/options/sizes'
import { launchCounts } from '../src/plans/program-statistics'
import { enlarge } from './enlarge'
import { copyOf, kernelBytes } from './kernel-bytes'
import { must } from './must'
import { readCount, readModels, readName, readNames, readOptions } from './options'
import { requestFor } from './request'

const { values } = readOptions({
  options: {
    models: { type: 'string', default: 'densenet121,deeplabv3_resnet50,unet' },
    size: { type: 'string', default: '512' },
    batch: { type: 'string', default: '2' },
    precision: { type: 'string', default: 'float32' },
    threads: { type: 'string', default: '2' },
    rounds: { type: 'string', default: '5' },
    least: { type: 'string', default: '1' },
    kinds: { type: 'string' }
  }
})
const [size, batch] = [readCount('--size', values.size), readCount('--batch', values.batch)]
const [rounds, threads] = [readCount('--rounds', values.rounds), readCount('--threads', values.threads)]
const models = readModels('--models', values.models)
const precision = readName('--precision', values.precision, ['float32', 'bf16'])
const least = must(E.mapLeft((message: string) => ({ message: `--least: ${message}` }))(parseBytes(values.least)))
const bytesOf = (kernel: Kernel): number => kernelBytes(kernel, precision)

const kernels = models
  .map((model) => must(stage(must(requestFor({ model, size, batch, threads, precision })))).program)
  .flatMap(({ kernels: all, step }) => [...launchCounts(step).keys()].map((place) => all[place]!))
const products = (kernel: Kernel): boolean => productFlops(kernel) > 0
const known = [...new Set(kernels.filter((kernel) => !products(kernel)).map(({ kind }) => kind))]
const kinds = values.kinds === undefined ? known : readNames('--kinds', values.kinds, known)
const largest = new Map<string, Kernel>()
for (const kernel of kernels) {
  if (products(kernel) || !kinds.includes(kernel.kind)) continue
  const other = largest.get(kernel.kind)
  if (other === undefined || bytesOf(kernel) > bytesOf(other)) largest.set(kernel.kind, kernel)
}
const measured = [...largest.values()].map((kernel) => enlarge(kernel, least / bytesOf(kernel))).sort((a, b) => bytesOf(b) - bytesOf(a))

const timer = must(createKernelTimer({ device: 'cpu', precision, threads }))
const taken = measured.map((): [kernel: number, copy: number] => [Infinity, Infinity])
for (let round = 0; round < rounds; round++)
  measured.forEach((kernel, place) => {
    const times = must(timer.milliseconds([kernel, copyOf(bytesOf(kernel))])).map(Number)
    taken[place] = [Math.min(taken[place]![0], times[0]!), Math.min(taken[place]![1], times[1]!)]
  })

const table = new Table({ head: ['kernel', 'MiB', 'ms', 'copy, ms', 'of a copy'], style: { head: [], border: [] } })
measured.forEach(({ kind }, place) => {
  const [kernel, copy] = taken[place]!
  const mebibytes = bytesOf(measured[place]!) / 2 ** 20
  table.push([kind, mebibytes.toFixed(1), kernel.toFixed(3), copy.toFixed(3), (kernel / copy).toFixed(2)])
})
console.log(`${values.models} at ${batch}x3x${size}x${size}, ${precision}, ${threads} threads, the least of ${rounds}`)
console.log(table.toString())
