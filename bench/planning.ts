/**
 * What planning takes, and how good the plans are; nothing runs but the planner:
 *
 *     npx ts-node bench/planning.ts [--models vgg16,resnet50] [--sizes 512,2048] [--batch 1]
 *         [--budgets 30%,50%,75%,100%] [--strategies auto,sft] [--host-budget 16GiB]
 *         [--device cpu|devices/v100-16gb.json] [--threads 2] [--limit 120] [--against FOLDER]
 *         [--out results.json]
 *
 * Each cell is planned by a process of its own, as a command is; CPU seconds are the whole
 * process's while it plans, so that other work on the machine matters little. `--against` plans
 * each cell by another checkout too, which needs its own `node_modules` and addon, and here within
 * as many bytes, though plain may need others: a cell that it plans and this does not, or that is
 * predicted slower here, is named and ends this with 1.
 */
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import * as E from 'fp-ts/Either'
import { parseSize, type Size } from '../src/options/sizes'
import { formatBytes, formatMilliseconds, percent } from '../src/text/format'
import { table } from '../src/text/table'
import { strategyNames } from '../staging'
import { median } from './median'
import type { Cell, CellResult } from './planning-cell'
import { must } from './must'
import { readCount, readCounts, readModels, readNames, readOptions } from './options'

const root = join(__dirname, '..')

/** A cell that took longer than the limit, or failed, has no result but the reason. */
type Outcome = CellResult | { readonly reason: string }

interface Row {
  readonly cell: Cell
  readonly now: Outcome
  readonly before?: Outcome
}

const hasResult = (outcome: Outcome | undefined): outcome is CellResult => outcome !== undefined && 'planned' in outcome

const run = async (checkout: string, cell: Cell, limitSeconds: number): Promise<Outcome> => {
  const before = ['compile-late.js', 'modules/load-typescript.js'].flatMap((file) => ['-r', join(root, 'src', file)])
  const args = [...before, join(__dirname, 'planning-cell.ts'), checkout, JSON.stringify(cell)]
  try {
    const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 1000 * limitSeconds, maxBuffer: 2 ** 28 })
    return JSON.parse(stdout) as CellResult
  } catch (error) {
    const { killed, stderr = '' } = error as { readonly killed?: boolean; readonly stderr?: string }
    const reason = stderr.split('\n').find((line) => line.startsWith('Error: '))
    return { reason: killed === true ? `> ${limitSeconds} s` : (reason ?? 'failed') }
  }
}

const sizeOf = (text: string): Size => must(E.mapLeft((message: string) => ({ message }))(parseSize(text)))

const fractionOf = (text: string): number => {
  const size = sizeOf(text)
  return size.kind === 'ofPlain' ? size.fraction : must(E.left({ message: `a budget of ${text} is none here: write 30%, of plain` }))
}

const hostBytesOf = (text: string): number => {
  const size = sizeOf(text)
  return size.kind === 'bytes' ? size.bytes : must(E.left({ message: `--host-budget: ${text} is none here: write bytes, such as 16GiB` }))
}

const seconds = (value: number): string => value.toFixed(2)

const figuresOf = (outcome: Outcome): readonly string[] => {
  if (!hasResult(outcome)) return [outcome.reason, '', '', '', '', '']
  const { cpuSeconds, wallSeconds, planned, leastBytes } = outcome
  const took = [seconds(cpuSeconds), seconds(wallSeconds)]
  if (planned === null) return [...took, 'none fits', '', leastBytes === undefined ? '' : `least ${formatBytes(leastBytes)}`, '']
  const { milliseconds, lowerBoundMilliseconds, deviceBytes, hostBytes } = planned
  return [
    ...took,
    formatMilliseconds(milliseconds),
    (milliseconds / lowerBoundMilliseconds).toFixed(3),
    formatBytes(deviceBytes),
    hostBytes === 0 ? '' : formatBytes(hostBytes)
  ]
}

/** What is worse than the other checkout has it; undefined where nothing is. */
const worsening = ({ now, before }: Row): string | undefined => {
  if (!hasResult(before)) return undefined
  if (!hasResult(now)) return now.reason
  if (before.planned === null) {
    const more = (now.leastBytes ?? 0) - (before.leastBytes ?? Infinity)
    return now.planned === null && more > 0 ? `the least budget is ${formatBytes(more)} more` : undefined
  }
  if (now.planned === null) return 'nothing fits any more'
  const ratio = now.planned.milliseconds / before.planned.milliseconds
  return ratio > 1 ? `${percent(ratio - 1)} slower` : undefined
}

const comparisonOf = (row: Row): readonly string[] => {
  const { now, before } = row
  if (before === undefined) return []
  if (!hasResult(before) || !hasResult(now)) return [hasResult(before) ? seconds(before.cpuSeconds) : before.reason, '', '']
  const times = now.planned !== null && before.planned !== null ? now.planned.milliseconds / before.planned.milliseconds : undefined
  const same = now.planned?.plan === before.planned?.plan
  return [seconds(before.cpuSeconds), times?.toFixed(4) ?? '', same ? 'same' : (worsening(row) ?? 'other')]
}

const nameOf = ({ model, input, fraction, strategy }: Cell): string => `${model} ${input.join('x')} in ${percent(fraction)} by ${strategy}`

const spread = (what: string, values: readonly number[]): string =>
  `${what} ${seconds(median(values))} in the median, ${seconds(Math.max(...values))} at most`

const summary = (title: string, outcomes: readonly Outcome[]): string => {
  const results = outcomes.filter(hasResult)
  if (results.length === 0) return `${title}: none of ${outcomes.length} cells has a result`
  const cpu = spread(
    'CPU s',
    results.map(({ cpuSeconds }) => cpuSeconds)
  )
  const wall = spread(
    'wall s',
    results.map(({ wallSeconds }) => wallSeconds)
  )
  const ratios = results.flatMap(({ planned }) => (planned === null ? [] : [planned.milliseconds / planned.lowerBoundMilliseconds]))
  const mean = ratios.reduce((sum, ratio) => sum + ratio, 0) / ratios.length
  const quality = ratios.length === 0 ? '' : `, ${mean.toFixed(3)} of the bound on average, ${Math.max(...ratios).toFixed(3)} at most`
  return `${title}: ${results.length} of ${outcomes.length} cells, ${ratios.length} fit${quality}; ${cpu}; ${wall}`
}

/** torchvision's pooling branch of DeepLab normalises one value a channel: it needs two images. */
const leastBatch = (model: string): number => (model.startsWith('deeplab') ? 2 : 1)

const main = async (): Promise<void> => {
  const { values } = readOptions({
    options: {
      models: { type: 'string', default: 'vgg16,vgg19,darknet19,resnet50,densenet121,unet' },
      sizes: { type: 'string', default: '512' },
      batch: { type: 'string', default: '1' },
      budgets: { type: 'string', default: '30%,50%,75%,100%' },
      strategies: { type: 'string', default: 'auto' },
      'host-budget': { type: 'string' },
      device: { type: 'string', default: 'cpu' },
      threads: { type: 'string', default: '2' },
      limit: { type: 'string', default: '120' },
      against: { type: 'string' },
      out: { type: 'string' }
    }
  })
  const { device, against, out } = values
  const common = {
    threads: readCount('--threads', values.threads),
    ...(device !== 'cpu' && { device: resolve(device) }),
    ...(values['host-budget'] !== undefined && { hostBytes: hostBytesOf(values['host-budget']) })
  }
  const models = readModels('--models', values.models)
  const strategies = readNames('--strategies', values.strategies, strategyNames)
  const batch = readCount('--batch', values.batch)
  const cells = models.flatMap((model) =>
    values.sizes.split(',').flatMap((size) =>
      values.budgets.split(',').flatMap((budget) =>
        strategies.map((strategy): Cell => {
          const [height, width = height] = readCounts('--sizes', size.replace('x', ','))
          return {
            model,
            input: [Math.max(batch, leastBatch(model)), 3, height!, width!],
            fraction: fractionOf(budget),
            strategy,
            ...common
          }
        })
      )
    )
  )
  const limit = readCount('--limit', values.limit)
  const rows: Row[] = []
  for (const cell of cells) {
    const before = against === undefined ? undefined : await run(resolve(against), cell, limit)
    const budget = hasResult(before) && { budgetBytes: Math.floor(cell.fraction * before.plainBytes) }
    rows.push({ cell, now: await run(root, { ...cell, ...budget }, limit), ...(before !== undefined && { before }) })
    process.stderr.write(`${rows.length}/${cells.length}  ${nameOf(cell)}\n`)
    if (out !== undefined) writeFileSync(out, `${JSON.stringify(rows)}\n`)
  }
  const head = ['model', 'input', 'budget', 'strategy', 'CPU s', 'wall s', 'step', 'over bound', 'device', 'host']
  const compared = against === undefined ? [] : ['CPU s before', 'step over before', 'plan']
  const lines = rows.map((row) => {
    const { model, input, fraction, strategy } = row.cell
    return [model, input.join('x'), percent(fraction), strategy, ...figuresOf(row.now), ...comparisonOf(row)]
  })
  const worse = rows.flatMap((row) => worsening(row)?.replace(/^/, `${nameOf(row.cell)}: `) ?? [])
  const sums = [
    summary(
      'here',
      rows.map(({ now }) => now)
    ),
    ...(against === undefined
      ? []
      : [
          summary(
            'there',
            rows.flatMap(({ before }) => before ?? [])
          )
        ])
  ]
  process.stdout.write(`${[table([...head, ...compared], lines), ...sums, ...worse].join('\n')}\n`)
  process.exitCode = worse.length > 0 || !rows.some(({ now }) => hasResult(now)) ? 1 : 0
}

void main()
