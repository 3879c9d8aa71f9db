/**
 * Every strategy's predicted step over the memory range, by the simulator; nothing runs:
 *
 *     npx ts-node bench/strategies.ts [--models vgg16,vgg19] [--strategies plain,…] [--input 8x3x512x512] [--device devices/v100-16gb.json] [--json]
 *
 * Over the lower bound of Beaumont et al. (Euro-Par 2020, Proposition 3): the plain step, or the
 * time in which what it needs above the budget goes to the host and comes back. What computes
 * again, or runs in tiles, may be below it.
 */
import * as E from 'fp-ts/Either'
import { type CompareRow, compare, plan } from '../src'
import { loadDevice } from '../src/plans/device-file'
import { table } from '../src/text/table'
import { type StrategyName, strategyNames } from '../staging'
import { must } from './must'
import { readOptions } from './options'

/** Shares of the way from the least memory in which whole tensors can be swapped to plain's. */
const shares = [0, 0.1, 0.2, 0.4, 0.6, 0.8, 1]

interface Row {
  readonly model: string
  readonly strategy: string
  /** By share of the memory range; null where nothing fits. */
  readonly relative: readonly (number | null)[]
}

const measure = async (
  model: string,
  strategies: readonly StrategyName[],
  input: readonly number[],
  path: string
): Promise<readonly Row[]> => {
  const device = must(loadDevice(path))
  const options = { model, input, classes: 2, device } as const
  const [plain] = must(await compare({ ...options, budgets: ['100%'], strategies: ['plain'] })()).rows
  const refused = await plan({ ...options, strategy: 'dynprog', budget: 4096 })()
  const least = E.isLeft(refused) ? refused.left.smallestFeasibleBudgetBytes! : 0
  const [most, plainMs] = [plain!.peakDeviceBytes!, plain!.predictedStepMs!]
  const budgets = shares.map((share) => Math.floor(least + share * (most - least)))
  const { toDevice, toHost } = device.linkBytesPerSecond
  const bound = (budget: number): number => Math.max(plainMs, 1000 * (most - budget) * (1 / toDevice + 1 / toHost))
  const { rows } = must(await compare({ ...options, strategies, budgets })())
  const relative = ({ budgetBytes, predictedStepMs }: CompareRow): number | null =>
    predictedStepMs === null ? null : predictedStepMs / bound(budgetBytes)
  return strategies.map((strategy) => ({
    model,
    strategy,
    relative: rows.filter((row) => row.strategy === strategy).map(relative)
  }))
}

const main = async (): Promise<void> => {
  const { values } = readOptions({
    options: {
      models: { type: 'string', default: 'vgg16,vgg19' },
      strategies: { type: 'string', default: strategyNames.join() },
      input: { type: 'string', default: '8x3x512x512' },
      device: { type: 'string', default: 'devices/v100-16gb.json' },
      json: { type: 'boolean', default: false }
    }
  })
  const rows: Row[] = []
  const wanted = values.strategies.split(',') as readonly StrategyName[]
  for (const model of values.models.split(','))
    rows.push(...(await measure(model, wanted, values.input.split('x').map(Number), values.device)))
  const cells = rows.map(({ model, strategy, relative }, index) => [
    rows[index - 1]?.model === model ? '' : model,
    strategy,
    ...relative.map((ratio) => ratio?.toFixed(3) ?? '')
  ])
  const text = table(['model', 'strategy', ...shares.map((share) => `${100 * share}%`)], cells)
  process.stdout.write(`${values.json ? JSON.stringify({ shares, rows }) : text}\n`)
}

void main()
