import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite } from 'uvu'
import { ok } from 'uvu/assert'
import type { Segment } from '../../staging'
import { inSystems } from '../in-systems'
import type { Answer, Wanted } from './measure'

/**
 * Predicted is measured, by evidence: the arena is filled with a pattern, a mebibyte longer than
 * planned and closed by an inaccessible page; a preloaded counter watches the heap while training
 * steps run.
 */
const memory = suite('memory: planned peaks are the real ones')
const folder = mkdtempSync(join(tmpdir(), 'tilefold-memory-'))
const counter = join(folder, 'malloc_counter.so')

/**
 * Images and rows of tiles, in a segment that ends in a reduction over pixels, before the
 * classifier and the loss.
 */
const byHand: readonly Segment[] = [
  { from: 0, to: 20, grid: { B: 2, H: 3, W: 2 }, recompute: true, reorder: 'each-tile' },
  { from: 20, to: 42, grid: { B: 1, H: 2, W: 1 }, recompute: true, reorder: 'once' },
  { from: 42, to: 44, grid: { B: 1, H: 1, W: 1 }, recompute: false, reorder: 'once' }
]

/** The segments by hand, with the images' tiles loaded ahead. */
const loadedAhead = byHand.map((segment): Segment => (segment.from === 0 ? { ...segment, prefetch: true } : segment))

/** Segments of ResNet-18 that end at each statistics barrier, in tiles but for the head. */
const resnetCuts = [1, 5, 8, 12, 15, 19, 22, 24, 28, 31, 35, 38, 40, 44, 47, 51, 54, 56, 60, 63, 67, 69]
const atStatistics = resnetCuts.map((to, index): Segment => {
  const [from, isHead] = [resnetCuts[index - 1] ?? 0, to > 67]
  return {
    from,
    to,
    grid: { B: 1, H: isHead ? 1 : 2, W: isHead ? 1 : 3 },
    recompute: !isHead,
    reorder: index % 2 === 0 ? 'once' : 'each-tile'
  }
})
const resnetOptions: Wanted['training'] = {
  accumulate: 2,
  clipNorm: 0.1,
  evaluate: true,
  groups: ['conv1', 'bn1', 'layer1'].map((prefix) => ({ prefix, frozen: true }))
}

/**
 * Half the net frozen, a micro-batch's gradients added to those before, clipped, and evaluations.
 */
const everything: Wanted['training'] = {
  accumulate: 2,
  clipNorm: 0.1,
  evaluate: true,
  groups: [0, 2, 5, 7, 10].map((layer) => ({ prefix: `features.${layer}`, frozen: true }))
}

/**
 * Of the lowest pages that are free: whoever takes the highest touches its last one, or at least
 * the one before.
 */
const inPages = { allocator: 'virtual', pageBytes: 4096 } as const

/** What a plan takes is how layers follow each other: a quarter of the channels shows it too. */
const narrowed = inSystems ? 1 : 4

interface Case extends Wanted {
  /** Left out where it is fastest to tile on some processors alone. */
  readonly tiled?: boolean
  readonly swaps?: true
  /** In the long tests alone. */
  readonly long?: true
}

const all: readonly Case[] = [
  { device: 'cpu', network: 'vgg16', input: [1, 3, 160, 128], strategy: 'plain', tiled: false },
  { device: 'cpu', network: 'vgg16', input: [1, 3, 160, 128], strategy: 'vdnn', budget: 150e6, tiled: false, swaps: true, long: true },
  { device: 'cpu', network: 'vgg19', input: [1, 3, 160, 128], strategy: 'dynprog', budget: 190e6, tiled: false, swaps: true },
  {
    device: 'reference',
    network: 'darknet19',
    input: [1, 3, 65, 33],
    strategy: 'vdnn',
    budget: 257e6,
    training: { accumulate: 2, clipNorm: 1, evaluate: true },
    tiled: false,
    swaps: true
  },
  {
    ...{ device: 'cpu', network: 'vgg16', input: [1, 3, 160, 128], strategy: 'vdnn', budget: 150e6, placement: inPages },
    ...{ tiled: false, swaps: true }
  },
  { device: 'cpu', network: 'darknet19', input: [2, 3, 131, 97], strategy: 'sft', segments: loadedAhead, placement: inPages, tiled: true },
  { device: 'cpu', network: 'vgg16', input: [1, 3, 161, 227], strategy: 'sft', budget: 144e6, tiled: true },
  { device: 'cpu', network: 'vgg16', input: [2, 3, 96, 128], strategy: 'chen', budget: 150e6, tiled: false, long: true },
  { device: 'cpu', network: 'darknet19', input: [2, 3, 131, 97], strategy: 'sft', segments: byHand, tiled: true },
  { device: 'reference', network: 'darknet19', narrowed, input: [2, 3, 65, 33], strategy: 'sft', segments: byHand, tiled: true },
  { device: 'cpu', network: 'darknet19', input: [2, 3, 131, 97], strategy: 'sft', segments: loadedAhead, tiled: true, long: true },
  { device: 'cpu', network: 'vgg16', input: [1, 3, 160, 128], strategy: 'plain', training: everything, tiled: false },
  { device: 'cpu', network: 'vgg16', input: [2, 3, 161, 127], strategy: 'sft', budget: 196e6, training: everything },
  {
    device: 'cpu',
    network: 'darknet19',
    input: [2, 3, 131, 97],
    strategy: 'sft',
    segments: byHand,
    training: { clipNorm: 1 },
    tiled: true,
    long: true
  },
  { device: 'cpu', network: 'flat', input: [4, 3, 160, 128], strategy: 'plain', tiled: false },
  { device: 'cpu', network: 'resnet18', input: [2, 3, 129, 97], strategy: 'plain', tiled: false },
  { device: 'cpu', network: 'resnet18', input: [1, 3, 161, 127], strategy: 'vdnn', budget: 110e6, tiled: false, swaps: true, long: true },
  { device: 'cpu', network: 'resnet18', input: [1, 3, 161, 127], strategy: 'lms', budget: 112e6, tiled: false, swaps: true, long: true },
  {
    ...{ device: 'cpu', network: 'vgg11_bn', input: [1, 3, 321, 257], strategy: 'sft-offload', budget: 100e6, hostBudget: 70e6 },
    ...{ tiled: true, swaps: true }
  },
  { device: 'cpu', network: 'resnet18', input: [2, 3, 129, 97], strategy: 'chen-sqrt', training: resnetOptions, tiled: false },
  { device: 'cpu', network: 'resnet18', input: [2, 3, 161, 127], strategy: 'sft', segments: atStatistics, tiled: true, long: true },
  {
    device: 'cpu',
    network: 'resnet18',
    input: [1, 3, 225, 191],
    strategy: 'sft',
    segments: atStatistics,
    training: resnetOptions,
    tiled: true
  },
  { device: 'reference', network: 'resnet18', narrowed, input: [1, 3, 97, 97], strategy: 'sft', segments: atStatistics, tiled: true },
  { device: 'reference', network: 'resnet18', narrowed, input: [1, 3, 65, 65], strategy: 'plain', training: resnetOptions, tiled: false }
]

const cases = all.filter(({ long }) => inSystems || long !== true)

/** All in one process, whose start takes as long as many of them. */
const answers: Answer[] = []

memory.before(() => {
  execFileSync('cc', ['-O2', '-Wall', '-Wextra', '-Werror', '-shared', '-fPIC', '-o', counter, join(__dirname, 'malloc_counter.c')])
  const { status, signal, stdout, stderr } = spawnSync(
    process.execPath,
    ['-r', join(__dirname, '..', 'transpile.js'), join(__dirname, 'measure.ts'), JSON.stringify(cases)],
    {
      encoding: 'utf8',
      env: { ...process.env, LD_PRELOAD: counter, MALLOC_COUNTS: join(folder, 'counts') }
    }
  )
  answers.push(...stdout.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Answer])))
  if (status !== 0) answers.push({ thrown: `the process ended with ${status ?? signal}\n${stderr}` })
})
memory.after(() => rmSync(folder, { recursive: true }))

cases.forEach((wanted, index) =>
  memory(
    [wanted.network, 'at', `${wanted.input.join('x')},`, `${wanted.strategy},`, wanted.device].join(' ') +
      (wanted.training ? ', options' : '') +
      (wanted.segments === loadedAhead ? ', loaded ahead' : '') +
      (wanted.placement ? ', in pages' : ''),
    () => {
      const answer = answers[index] ?? { thrown: 'its process ended before it' }
      if ('thrown' in answer) throw new Error(answer.thrown)
      const { plannedPeakBytes, measuredPeakBytes, plannedHostBytes, measuredHostBytes, heapBytes, controlBytes, tiles } = answer.measured
      ok(
        measuredPeakBytes <= plannedPeakBytes,
        `byte ${measuredPeakBytes - 1} was changed, over the planned peak of ${plannedPeakBytes} bytes`
      )
      ok(
        measuredPeakBytes >= plannedPeakBytes - (wanted.placement ? inPages.pageBytes : 4095),
        `the highest byte changed is ${measuredPeakBytes - 1}, far under the planned peak of ${plannedPeakBytes} bytes`
      )
      ok(
        measuredHostBytes <= plannedHostBytes &&
          (wanted.swaps ? measuredHostBytes > Math.max(0, plannedHostBytes - 4096) : measuredHostBytes === 0),
        `the highest byte changed on the host is ${measuredHostBytes - 1} of ${plannedHostBytes} that were planned`
      )
      // V8 may allocate in one of the steps; kernels do the same in all three.
      ok([...heapBytes].sort((a, b) => a - b)[1]! < 1 << 20, `the heap grew by ${heapBytes.join(', ')} bytes in the steps`)
      ok(controlBytes >= 4 << 20, `the counter saw ${controlBytes} bytes of an allocation of 4 MiB`)
      ok(wanted.tiled === undefined || tiles > 1 === wanted.tiled, `the plan's finest grid has ${tiles} tiles`)
    }
  )
)

memory.run()
