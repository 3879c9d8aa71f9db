/**
 * Plans one request and prints what it took as a line of JSON: what `planning.ts` runs for each of
 * its cells, in a process of its own, by the staging of any checkout.
 */
import { join } from 'node:path'
import * as E from 'fp-ts/Either'
import { must } from './must'

/** What is planned: a training step of a built-in model, head gap and two classes. */
export interface Cell {
  readonly model: string
  /** Of the input: images, channels, height, width. */
  readonly input: readonly number[]
  /** The budget over what plain needs. */
  readonly fraction: number
  /** The budget in bytes, in place of that. */
  readonly budgetBytes?: number
  readonly strategy: string
  /** Bytes that may wait on the host; absent where none may. */
  readonly hostBytes?: number
  /** A device file; the cpu of this machine by its roofline where absent. */
  readonly device?: string
  readonly threads: number
}

/** What planning took, and what was planned; null where nothing fits the budget. */
export interface CellResult {
  readonly cpuSeconds: number
  readonly wallSeconds: number
  /** Bytes of the plan `plain`. */
  readonly plainBytes: number
  readonly planned: {
    readonly milliseconds: number
    readonly lowerBoundMilliseconds: number
    readonly deviceBytes: number
    readonly hostBytes: number
    /** The decisions, as plan files have them. */
    readonly plan: string
  } | null
  /** Bytes of the least budget that anything fits, where this one is too small for all. */
  readonly leastBytes?: number
}

/** The modules of a checkout, which may be of another commit. */
const load = (checkout: string) => ({
  staging: require(join(checkout, 'staging')) as typeof import('../staging'),
  native: require(join(checkout, 'native')) as typeof import('../native'),
  models: require(join(checkout, 'models')) as typeof import('../models'),
  files: require(join(checkout, 'src/plans/device-file')) as typeof import('../src/plans/device-file')
})

const planCell = (checkout: string, cell: Cell): CellResult => {
  const { staging, native, models, files } = load(checkout)
  const { model, input, fraction, budgetBytes, strategy, hostBytes, device: path, threads } = cell
  const file = path === undefined ? undefined : must(files.loadDevice(path))
  const device =
    file === undefined || staging.isProfile(file)
      ? must(native.deviceModel('cpu', 'float32', threads))
      : staging.fileModel(file, 'float32', threads)
  const request: Omit<Parameters<typeof staging.stage>[0], 'strategy'> = {
    model: models.builtIn[model]!({ classes: 2, head: 'gap' }),
    input,
    device: file !== undefined && staging.isProfile(file) ? staging.withProfile(device, file) : device,
    objective: { kind: 'train', optimizer: { kind: 'sgd', momentum: 0.9, weightDecay: 0 } },
    source: { kind: 'image', mean: [0.485, 0.456, 0.406], deviation: [0.229, 0.224, 0.225] },
    ...(hostBytes !== undefined && { hostBudget: { bytes: hostBytes } })
  }
  const budget = budgetBytes === undefined ? { fractionOfPlain: fraction } : { bytes: budgetBytes }
  const [began, before] = [performance.now(), process.cpuUsage()]
  const staged = staging.stage({ ...request, strategy: strategy as 'auto', budget })
  const { user, system } = process.cpuUsage(before)
  const took = { cpuSeconds: (user + system) / 1e6, wallSeconds: (performance.now() - began) / 1000 }
  if (E.isLeft(staged)) {
    const { code, message, smallestFeasibleBudgetBytes: leastBytes } = staged.left
    if (code !== 'budget') throw new Error(message)
    const { plainPeakBytes: plainBytes } = must(staging.stage({ ...request, strategy: 'plain' })).predicted
    return { ...took, plainBytes, planned: null, ...(leastBytes !== undefined && { leastBytes }) }
  }
  const { plan, predicted } = staged.right
  return {
    ...took,
    plainBytes: predicted.plainPeakBytes,
    planned: {
      milliseconds: predicted.stepMilliseconds,
      lowerBoundMilliseconds: predicted.lowerBoundMilliseconds,
      deviceBytes: predicted.peakDeviceBytes,
      hostBytes: predicted.peakHostBytes,
      plan: JSON.stringify(plan)
    }
  }
}

if (require.main === module) {
  const [checkout, cell] = process.argv.slice(2)
  process.stdout.write(`${JSON.stringify(planCell(checkout!, JSON.parse(cell!) as Cell))}\n`)
}
