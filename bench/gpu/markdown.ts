import * as E from 'fp-ts/Either'
import { basename } from 'node:path'
import { formatBytes, formatMilliseconds } from '../../src/sizes'
import { median } from '../median'
import type { Batch } from './batches'
import type { Row } from './benchmark'
import type { DriverMemory } from './driver-memory'
import type { LaunchOverhead } from './launch-overhead'
import type { Overlap } from './overlap'
import type { Error64, Parity } from './parity'
import type { Profiled } from './predictions'
import { type Refusal, timeIsUp } from './refusal'
import { type Part, type Report, holds, parityGroups, parityHolds } from './report'
import type { Sanitized } from './sanitizer'
import type { Tested } from './suite'

const cell = (text: string): string => text.replace(/\s+/g, ' ').replaceAll('|', '\\|')

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map((row) => `| ${row.map(cell).join(' | ')} |`).join('\n')

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`

const suiteTable = (tested: readonly Tested[]): string =>
  table(
    ['test file', 'passed', 'failed', 'seconds', ''],
    tested.map(({ file, passed, failed, seconds, complaint = '' }) => [file, `${passed}`, `${failed}`, seconds.toFixed(1), complaint])
  )

const summary = (errors: readonly Error64[]): string => {
  const refused = errors.find(E.isLeft)
  if (refused !== undefined) return refused.left.message
  const values = errors.flatMap((error) => (E.isRight(error) ? [error.right] : []))
  return `${median(values).toExponential(2)} (largest ${Math.max(...values).toExponential(2)})`
}

const parityTable = (rows: readonly Parity[]): string =>
  table(
    ['precision', 'input', 'seeds', 'float64 by', 'Tilefold, whole', 'Tilefold, 16x16 tiles', 'PyTorch', 'holds'],
    parityGroups(rows).map((group) => {
      const { precision, size, exactBy } = group[0]!
      return [
        precision,
        `1x3x${size}x${size}`,
        `${group.length}`,
        exactBy,
        summary(group.map(({ tilefold }) => tilefold.whole)),
        summary(group.map(({ tilefold }) => tilefold.tiled)),
        summary(group.map(({ pytorch }) => pytorch)),
        parityHolds(group) ? 'yes' : 'no'
      ]
    })
  )

const benchmarkTable = (rows: readonly Row[]): string =>
  table(
    ['precision', 'arena', 'input', 'contender', 'median step', 'of PyTorch', 'peak memory', 'why not'],
    rows.map(({ precision, arenaBytes, size, contender, timing }) => [
      ...[precision, formatBytes(arenaBytes), `1x3x${size}x${size}`, contender],
      ...(E.isRight(timing)
        ? [
            formatMilliseconds(timing.right.medianMs),
            timing.right.ofPytorch?.toFixed(2) ?? '-',
            timing.right.peakBytes === null ? '-' : formatBytes(timing.right.peakBytes),
            ''
          ]
        : ['-', '-', '-', timing.left.message])
    ])
  )

const failureTable = (rows: readonly Row[]): string => {
  const keys = [...new Set(rows.map(({ precision, arenaBytes, contender }) => JSON.stringify([precision, arenaBytes, contender])))]
  return table(
    ['precision', 'arena', 'contender', 'largest input that ran', 'first that did not'],
    keys.map((key) => {
      const [precision, arenaBytes, contender] = JSON.parse(key) as readonly [string, number, string]
      const own = rows.filter((row) => row.precision === precision && row.arenaBytes === arenaBytes && row.contender === contender)
      const ran = own.filter(({ timing }) => E.isRight(timing)).at(-1)
      const failed = own.find(({ timing }) => E.isLeft(timing) && timing.left !== timeIsUp)
      return [
        precision,
        formatBytes(arenaBytes),
        contender,
        ran === undefined ? '-' : `${ran.size}²`,
        failed === undefined ? '-' : `${failed.size}²`
      ]
    })
  )
}

/** A row of words a figure, or as many dashes and why there is none. */
const rowsOf = <A>(
  rows: readonly E.Either<Refusal, A>[],
  columns: number,
  show: (found: A) => readonly string[]
): readonly (readonly string[])[] =>
  rows.map((row) => (E.isRight(row) ? [...show(row.right), ''] : [...Array.from({ length: columns }, () => '-'), row.left.message]))

const launchTable = (rows: readonly E.Either<Refusal, LaunchOverhead>[]): string =>
  table(
    ['precision', 'input', 'step in tiles', 'untiled', 'halo', 'launches', 'their kernels', 'of those', 'between two', 'why not'],
    rowsOf(rows, 9, ({ precision, size, stepMs, untiledMs, haloOverhead, launches, kernelMs, ofKernels, microsecondsPerLaunch }) => [
      ...[precision, `1x3x${size}x${size}`, formatMilliseconds(stepMs)],
      ...[E.isRight(untiledMs) ? formatMilliseconds(untiledMs.right) : untiledMs.left.message, percent(haloOverhead), `${launches}`],
      ...[formatMilliseconds(kernelMs), ofKernels.toFixed(3), `${microsecondsPerLaunch.toFixed(2)} µs`]
    ])
  )

const gigabytes = (bytesPerSecond: number): string => `${(bytesPerSecond / 1e9).toFixed(1)} GB/s`

const predictionTable = (rows: readonly E.Either<Refusal, Profiled>[]): string =>
  [
    table(
      ['precision', 'kernels', 'seconds', 'to the device', 'to the host', 'device file', 'why not'],
      rowsOf(rows, 6, ({ precision, kernels, seconds, linkBytesPerSecond: { toDevice, toHost }, deviceFile }) => [
        ...[precision, `${kernels}`, seconds.toFixed(1), gigabytes(toDevice), gigabytes(toHost), deviceFile ?? '-']
      ])
    ),
    table(
      ['precision', 'input', 'strategy', "of plain's memory", 'predicted', 'measured', 'predicted over measured', 'why not'],
      rowsOf(
        rows.flatMap((row) => (E.isRight(row) ? row.right.predictions : [])),
        7,
        ({ precision, size, strategy, budget, predictedMs, measuredMs }) => [
          ...[precision, `1x3x${size}x${size}`, strategy, budget],
          ...[formatMilliseconds(predictedMs), formatMilliseconds(measuredMs), (predictedMs / measuredMs).toFixed(2)]
        ]
      )
    )
  ].join('\n\n')

const overlapTable = (rows: readonly E.Either<Refusal, Overlap>[]): string =>
  table(
    ['precision', 'strategy', "of plain's memory", 'step', 'plain', 'moved', 'alone', 'hidden by computing', 'why not'],
    rowsOf(rows, 8, ({ precision, strategy, budget, stepMs, plainMs, movedBytes, transferMs, hidden }) => [
      ...[precision, strategy, budget, formatMilliseconds(stepMs), formatMilliseconds(plainMs)],
      ...[formatBytes(movedBytes), formatMilliseconds(transferMs), percent(hidden)]
    ])
  )

const memoryTable = (rows: readonly E.Either<Refusal, DriverMemory>[]): string =>
  [
    table(
      ['arena', 'used memory grows by', 'beside the arena', 'why not'],
      rowsOf(rows, 3, ({ arenaBytes, grownBytes, besideBytes }) => [
        formatBytes(arenaBytes),
        formatBytes(grownBytes),
        formatBytes(besideBytes)
      ])
    ),
    'The driver counts for the whole GPU: true where nothing else uses it meanwhile.'
  ].join('\n\n')

const sanitizerTable = (rows: readonly E.Either<Refusal, Sanitized>[]): string =>
  table(
    ['tool', 'net', 'errors', 'seconds', 'why not'],
    rowsOf(rows, 4, ({ tool, net, errors, seconds }) => [tool, basename(net, '.js'), `${errors}`, seconds.toFixed(1)])
  )

const batchTable = (rows: readonly Batch[]): string => {
  const rates = rows.flatMap(({ measured }) => (E.isRight(measured) ? [measured.right.imagesPerSecond] : []))
  return [
    table(
      ['precision', 'strategy', 'arena', 'input', 'images a second', 'of the best', 'peak memory', 'on the host', 'why not'],
      rows.map(({ precision, strategy, batch, size, arenaBytes, measured }) => [
        ...[precision, strategy, formatBytes(arenaBytes), `${batch}x3x${size}x${size}`],
        ...rowsOf([measured], 4, ({ imagesPerSecond, peakDeviceBytes, peakHostBytes }) => [
          ...[imagesPerSecond.toFixed(1), (imagesPerSecond / Math.max(...rates)).toFixed(2)],
          ...[formatBytes(peakDeviceBytes), formatBytes(peakHostBytes)]
        ])[0]!
      ])
    ),
    // Its Table 1, as far as its text tells it.
    'Paper 000, ResNet-50 at 224 x 224 in 16 GB of a V100 with NVLink: 0.68 of its best at batch 928, 0.55 at 1440 with virtual addressing; Le et al. 0.53 at 928, where they end.'
  ].join('\n\n')
}

const section = <A>(title: string, part: Part<A> | undefined, show: (found: A) => string): string => {
  const [time, body] =
    part === undefined
      ? ['', 'Not run.']
      : [` (${part.seconds.toFixed(0)} s)`, E.isRight(part.found) ? show(part.found.right) : `Could not run: ${part.found.left.message}.`]
  return `## ${title}${time}\n\n${body}\n`
}

/** The whole check for people. */
export const markdown = (report: Report): string => {
  const { version, date, check, pytorch } = report
  const peer = E.isRight(pytorch)
    ? `${pytorch.right.version} on ${pytorch.right.device}${pytorch.right.memoryBytes === null ? '' : ` (${formatBytes(pytorch.right.memoryBytes)})`}`
    : `no PyTorch: ${pytorch.left.message}`
  return [
    `# Tilefold ${version}: gpu-check ${check.mode} on ${check.device}, ${date}\n`,
    `Beside ${peer}. The device suite and parity ${holds(report) ? 'hold' : 'do not hold'}.\n`,
    section('Device suite', report.suite, suiteTable),
    section('Parity: ‖g − g64‖ / ‖g64‖ of VGG-16', report.parity, parityTable),
    section('Training steps of VGG-16, batch 1', report.benchmarks, (rows) => `${benchmarkTable(rows)}\n\n${failureTable(rows)}`),
    section(`Growing batches of ${check.scale.batches.model}`, report.batches, batchTable),
    section('Profiles, and steps that they predict', report.predictions, predictionTable),
    section('Transfers beside computing, VGG-16', report.overlap, overlapTable),
    section('16 x 16 tiles', report.launchOverhead, launchTable),
    section("The driver's memory", report.driverMemory, memoryTable),
    section('compute-sanitizer', report.sanitizer, sanitizerTable)
  ].join('\n')
}
