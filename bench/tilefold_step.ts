/**
 * One training step of a model (head gap, two classes; SGD) for each line on standard input:
 *
 *     npx ts-node bench/tilefold_step.ts --model vgg16 --size 1024 --threads 2 [--batch 1] [--momentum 0.9] [--fraction 0.2] [--strategy sft] [--link 2GB/s] [--exact-kernels] [--precision bf16] [--plan FILE] [--rates JSON] [--breakdown]
 *
 * `fraction`: the strategy within this part of what plain needs; strategy plain where absent.
 * `plan`: the decisions of this file instead. `rates`: the machine's, of machine-limit.ts, by which
 * the limit of a step is told. Prints one JSON object a step, as pytorch_step.py does: {"ms",
 * "loss", "peakBytes"}, with `breakdown` {"kernels"} too; peakBytes is the process's peak resident
 * set less what was resident before the session was opened.
 */
import { createInterface } from 'node:readline'
import * as E from 'fp-ts/Either'
import { openSession } from '../native'
import { fillPixels } from '../src/commands/bench'
import { createStepIo } from '../native/session/step-io'
import { initialise } from '../src/weights/initialise'
import { loadPlan } from '../src/plans/plan-file'
import { parseRate } from '../src/options/sizes'
import { computeBreakdown } from '../src/running/breakdown'
import { buildRequestGraph, checkPlanFile, stage, strategyNames, type Program } from '../staging'
import type { KernelSum } from './contender'
import { limitMilliseconds, machineRates, type MachineRates } from './machine-limit'
import { must } from './must'
import { readCount, readName, readNumber, readOptions } from './options'
import { requestFor } from './request'

const say = (values: object): void => void process.stdout.write(`${JSON.stringify(values)}\n`)

const readRates = (text: string): MachineRates =>
  must(E.mapLeft(() => ({ message: `--rates: ${text} is none of machine-limit.ts` }))(machineRates.decode(JSON.parse(text))))

/** By kind, those of the engine that loads images left out: they take no time of the step's. */
const kernelSums = (program: Program, milliseconds: readonly number[]): readonly KernelSum[] =>
  computeBreakdown({ staged: { program }, predictedMilliseconds: () => 0 }, milliseconds, 1)
    .filter(({ beside }) => !beside)
    .map(({ kernel, launches, measuredMs }) => ({ kernel, launches, ms: measuredMs }))

const main = async (): Promise<void> => {
  const { values } = readOptions({
    options: {
      model: { type: 'string', default: 'vgg16' },
      size: { type: 'string', default: '1024' },
      threads: { type: 'string', default: '2' },
      batch: { type: 'string', default: '1' },
      momentum: { type: 'string', default: '0.9' },
      fraction: { type: 'string' },
      strategy: { type: 'string', default: 'sft' },
      link: { type: 'string' },
      'exact-kernels': { type: 'boolean', default: false },
      precision: { type: 'string', default: 'float32' },
      plan: { type: 'string' },
      rates: { type: 'string' },
      breakdown: { type: 'boolean', default: false }
    }
  })
  const size = readCount('--size', values.size)
  const precision = readName('--precision', values.precision, ['float32', 'bf16'])
  const known = E.mapLeft((message: string) => ({ message }))
  const strategy = readName('--strategy', values.strategy, strategyNames)
  const link = values.link === undefined ? undefined : must(known(parseRate(values.link)))
  const file = values.plan === undefined ? undefined : must(await loadPlan(values.plan)()).plan
  const request = must(
    requestFor({
      model: values.model,
      size,
      threads: readCount('--threads', values.threads),
      batch: readCount('--batch', values.batch),
      momentum: readNumber('--momentum', values.momentum),
      exactKernels: values['exact-kernels'],
      precision,
      ...(values.fraction !== undefined && { fraction: readNumber('--fraction', values.fraction), strategy }),
      ...(link !== undefined && { link })
    })
  )
  const given = file === undefined ? {} : { given: must(checkPlanFile(must(buildRequestGraph(request)), request.input, file)) }
  const staged = must(stage({ ...request, ...given }))
  const { program, graph, budget, predicted } = staged
  const arenaBytes = budget ?? program.peakBytes
  const before = process.memoryUsage.rss()
  const timesKernels = values.breakdown
  const session = must(
    openSession({ device: 'cpu', program, arenaBytes, timesKernels, ...(link !== undefined && { linkBytesPerSecond: link }) })
  )

  const restored = createStepIo(program.restore)
  graph.parameters.forEach(({ name, shape }) => initialise(1, name, shape, restored.view(name) as Float32Array))
  must(await session.run('restore', restored.buffer, { learningRate: 0, step: 0, seed: 1 }, [])())
  const pixels = Uint8Array.from({ length: size * size * 3 }, (_, position) => Math.imul(position + 1, 2654435761) >>> 24)
  const corner = { cropTop: 0, cropLeft: 0, flipHorizontal: false, flipVertical: false, quarterTurns: 0 } as const
  const images = Array.from({ length: program.input[0] }, () => ({ pixels, height: size, width: size, channels: 3, ...corner }))
  const io = createStepIo(program.step)
  fillPixels({ staged }, io, 1)
  say({
    ready: true,
    version: 'Tilefold',
    arenaBytes,
    predictedMs: predicted.stepMilliseconds,
    ...(values.rates !== undefined && { limitMs: limitMilliseconds(program, precision, readRates(values.rates)) }),
    haloOverhead: predicted.haloOverhead
  })

  let step = 0
  for await (const _ of createInterface({ input: process.stdin })) {
    const timed = session.kernelMilliseconds()
    const started = performance.now()
    must(await session.run('step', io.buffer, { learningRate: 1e-3, step, seed: 1 }, images)())
    const ms = performance.now() - started
    step += 1
    const peakBytes = process.resourceUsage().maxRSS * 1024 - before
    const ofStep = session.kernelMilliseconds().map((total, kernel) => total - timed[kernel]!)
    say({ ms, loss: io.view('loss')[0], peakBytes, ...(values.breakdown && { kernels: kernelSums(program, ofStep) }) })
  }
  session.close()
}

void main()
