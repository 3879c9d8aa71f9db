/**
 * Training steps by several addons (two versions of oneDNN, two compilers, the prebuilt one),
 * interleaved in one run:
 *
 *     npx ts-node bench/addons.ts A.node B.node ... [--models vgg16,resnet50,densenet121] [--size 512] [--rounds 7] [--threads 2]
 *
 * The median step of each, and over that of the first. A step during which something else used the
 * machine is taken again.
 */
import { join, resolve } from 'node:path'
import Table from 'cli-table3'
import { type Contender, start } from './contender'
import { median } from './median'
import { readCount, readModels, readOptions } from './options'
import { discardedText, runInterleaved, type Taken } from './rounds'
import { runMain } from './run-main'

const startWith = async (addon: string, options: readonly string[]): Promise<Contender> => {
  const step = [process.execPath, '-r', 'ts-node/register/transpile-only', join(__dirname, 'tilefold_step.ts'), ...options]
  const started = await start(addon, 'env', [`TILEFOLD_ADDON=${resolve(addon)}`, ...step])
  if ('reason' in started) throw new Error(`${addon}: ${started.reason}`)
  return started
}

/** The median over rounds of a step over the same round's step of the first. */
const ratio = (one: Taken, first: Taken): number =>
  one.steps.length === first.steps.length
    ? median(one.steps.map(({ ms }, round) => ms / first.steps[round]!.ms))
    : one.medianMs / first.medianMs

const main = async (): Promise<void> => {
  const { values, positionals: addons } = readOptions({
    allowPositionals: true,
    options: {
      models: { type: 'string', default: 'vgg16,resnet50,densenet121' },
      size: { type: 'string', default: '512' },
      rounds: { type: 'string', default: '7' },
      threads: { type: 'string', default: '2' }
    }
  })
  if (addons.length < 2) throw new Error('name two addons or more: the others are compared with the first')
  const [models, rounds] = [readModels('--models', values.models), readCount('--rounds', values.rounds)]
  const table = new Table({
    head: ['', ...addons, ...addons.slice(1).map((addon) => `${addon} of ${addons[0]!}`)],
    style: { head: [], border: [] }
  })
  const all: Taken[] = []
  for (const model of models) {
    const options = ['--model', model, '--size', values.size, '--threads', values.threads]
    const contenders: Contender[] = []
    for (const addon of addons) contenders.push(await startWith(addon, options))
    const taken = await runInterleaved(contenders, rounds)
    all.push(...taken)
    const times = taken.map(({ medianMs }) => `${(medianMs / 1000).toFixed(3)} s`)
    table.push([`${model}, ${values.size}x${values.size}`, ...times, ...taken.slice(1).map((one) => ratio(one, taken[0]!).toFixed(3))])
  }
  process.stdout.write(`${[table.toString(), ...discardedText(all)].join('\n')}\n`)
}

runMain(main)
