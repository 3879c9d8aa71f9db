import * as E from 'fp-ts/Either'
import { formatBytes, formatMilliseconds } from '../../src/text/format'
import { median } from '../median'
import { batchTables } from './batch-tables'
import { benchmarkTables } from './benchmark-tables'
import type { DriverMemory } from './driver-memory'
import type { LaunchOverhead } from './launch-overhead'
import type { Overlap } from './overlap'
import type { Error64, Parity } from './parity'
import type { Profiled } from './predictions'
import type { Refusal } from './refusal'
import { type Part, type Report, holds, parityGroups, parityHolds } from './report'
import type { Sanitized } from './sanitizer'
import type { Tested } from './suite'
import { networkTable } from './network-tables'
import { percent, makeRows, table } from './table'
import type { Finding, Verdict } from './verdict'
import { judgeReport } from './verdicts'

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
    ['precision', 'input', 'seeds', 'float64 by', 'Tilefold, whole', 'Tilefold, in tiles', 'PyTorch', 'holds'],
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

const orWhy = (found: E.Either<Refusal, number>, show: (value: number) => string): string =>
  E.isRight(found) ? show(found.right) : found.left.message

const launchTable = (rows: readonly E.Either<Refusal, LaunchOverhead>[]): string =>
  table(
    ['precision', 'input', 'step in tiles', 'untiled', 'halo', 'launches', 'their kernels', 'of those', 'between two', 'why not'],
    makeRows(rows, 9, ({ precision, size, stepMs, untiledMs, haloOverhead, launches, kernelMs, ofKernels, microsecondsPerLaunch }) => [
      ...[precision, `1x3x${size}x${size}`, formatMilliseconds(stepMs)],
      ...[orWhy(untiledMs, formatMilliseconds), orWhy(haloOverhead, percent), `${launches}`],
      ...[formatMilliseconds(kernelMs), ofKernels.toFixed(3), `${microsecondsPerLaunch.toFixed(2)} µs`]
    ])
  )

const gigabytes = (bytesPerSecond: number): string => `${(bytesPerSecond / 1e9).toFixed(1)} GB/s`

const predictionTable = (rows: readonly E.Either<Refusal, Profiled>[]): string =>
  [
    table(
      ['precision', 'kernels', 'seconds', 'to the device', 'to the host', 'device file', 'why not'],
      makeRows(rows, 6, ({ precision, kernels, seconds, linkBytesPerSecond: { toDevice, toHost }, deviceFile }) => [
        ...[precision, `${kernels}`, seconds.toFixed(1), gigabytes(toDevice), gigabytes(toHost), deviceFile ?? '-']
      ])
    ),
    table(
      ['precision', 'input', 'strategy', "of plain's memory", 'predicted', 'measured', 'predicted over measured', 'why not'],
      makeRows(
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
    makeRows(rows, 8, ({ precision, strategy, budget, stepMs, plainMs, movedBytes, transferMs, hidden }) => [
      ...[precision, strategy, budget, formatMilliseconds(stepMs), formatMilliseconds(plainMs)],
      ...[formatBytes(movedBytes), formatMilliseconds(transferMs), percent(hidden)]
    ])
  )

const memoryTable = (rows: readonly E.Either<Refusal, DriverMemory>[]): string =>
  [
    table(
      ['arena', 'used memory grows by', 'beside the arena', 'why not'],
      makeRows(rows, 3, ({ arenaBytes, grownBytes, besideBytes }) => [
        formatBytes(arenaBytes),
        formatBytes(grownBytes),
        formatBytes(besideBytes)
      ])
    ),
    'The driver counts for the whole GPU: true where nothing else uses it meanwhile.'
  ].join('\n\n')

/** Of a kernel the first of its name, and the place in it. */
const shortened = (words: string): string => (words.length <= 200 ? words : `${words.slice(0, 150)}...${words.slice(-45)}`)

const sanitizerTable = (rows: readonly Sanitized[]): string =>
  table(
    ['tool', 'net', 'precision', 'errors', 'seconds', 'its words', 'why not'],
    rows.map(({ tool, net, precision, found }) => [
      ...[tool, net, precision],
      ...makeRows([found], 3, ({ errors, seconds, words }) => [`${errors}`, seconds.toFixed(1), words.map(shortened).join('; ')])[0]!
    ])
  )

const findingText = ({ of, figure }: Finding): string =>
  `${of}: ${E.isRight(figure) ? figure.right.text : `not measured (${figure.left.message})`}`

/** One reason for all is given once. */
const findingsText = (findings: readonly Finding[]): string => {
  const reasons = new Set(findings.map(({ figure }) => (E.isRight(figure) ? undefined : figure.left.message)))
  const [reason] = reasons
  return reasons.size === 1 && reason !== undefined ? `not measured (${reason})` : findings.map(findingText).join('; ')
}

/** Verdicts as a table in Markdown. */
export const verdictTable = (verdicts: readonly Verdict[]): string =>
  table(
    ['point', 'what', 'limit', 'figure', 'holds'],
    verdicts.map(({ point, what, limit, findings, holds }) => [`${point}`, what, limit, findingsText(findings), holds])
  )

const section = <A>(title: string, part: Part<A> | undefined, show: (found: A) => string): string => {
  const [time, body] =
    part === undefined
      ? ['', 'Not run.']
      : [
          ` (${part.isUnfinished ? 'unfinished, ' : ''}${part.seconds.toFixed(0)} s)`,
          E.isRight(part.found) ? show(part.found.right) : `Could not run: ${part.found.left.message}.`
        ]
  return `## ${title}${time}\n\n${body}\n`
}

const conclusion = (report: Report): string => {
  const names = { suite: 'the device suite', parity: 'parity', sanitizer: 'compute-sanitizer' } as const
  const asked = (['suite', 'parity', 'sanitizer'] as const).filter((part) => report.check.parts.includes(part))
  if (asked.length === 0) return 'Neither the device suite nor parity was asked for.'
  const ended = asked.every((part) => report[part] !== undefined)
  return `What decides, ${asked.map((part) => names[part]).join(' and ')}, ${ended ? (holds(report) ? 'holds' : 'does not hold') : 'has not all run'}.`
}

/** The whole check for people. */
export const markdown = (report: Report): string => {
  const { version, date, check, pytorch } = report
  const peer = E.isRight(pytorch)
    ? `${pytorch.right.version} on ${pytorch.right.device}${pytorch.right.memoryBytes === null ? '' : ` (${formatBytes(pytorch.right.memoryBytes)})`}`
    : `no PyTorch: ${pytorch.left.message}`
  return [
    `# Tilefold ${version}: gpu-check ${check.mode} on ${check.device}, ${date}\n`,
    `Beside ${peer}. ${conclusion(report)}\n`,
    `## Verdicts\n\n${verdictTable(judgeReport(report))}\n`,
    section('Device suite', report.suite, suiteTable),
    section('Parity: ‖g − g64‖ / ‖g64‖ of VGG-16', report.parity, parityTable),
    section('compute-sanitizer', report.sanitizer, sanitizerTable),
    section("The driver's memory", report.driverMemory, memoryTable),
    section('Networks', report.networks, networkTable),
    section('Training steps of VGG-16, batch 1', report.benchmarks, benchmarkTables),
    section(`Growing batches of ${check.scale.batches.network.name}`, report.batches, batchTables),
    section('Profiles, and steps that they predict', report.predictions, predictionTable),
    section('Transfers beside computing, VGG-16', report.overlap, overlapTable),
    section('16 x 16 tiles', report.launchOverhead, launchTable)
  ].join('\n')
}
