import { openSync, readSync, writeSync } from 'node:fs'
import { conv2d, flatten, linear, model, relu } from '../../dsl'
import { builtIn } from '../../models'
import { deviceModel, openSession } from '../../native'
import { createStepIo } from '../../native/session/step-io'
import { asWritten } from '../golden/execute'
import { must } from '../must'
import { narrow } from '../properties/narrow'
import { uniform } from '../golden/hashed'
import { stage, type PlanPlacement, type Segment, type StrategyName, type Training } from '../../staging'

/** What the parent wants measured; a list of them comes as JSON in the last argument. */
export interface Wanted {
  readonly device: 'reference' | 'cpu'
  readonly network: string
  /** By what its channels are divided; 1 where absent. */
  readonly narrowed?: number
  readonly input: readonly [number, number, number, number]
  readonly strategy: StrategyName
  /** Bytes; unlimited where absent. */
  readonly budget?: number
  readonly hostBudget?: number
  /** Decisions to take as they are, in place of the strategy's. */
  readonly segments?: readonly Segment[]
  readonly placement?: PlanPlacement
  /** What training does besides; every section that there is runs in each step. */
  readonly training?: Partial<Training>
}

/** What real training steps took, in bytes. */
export interface Measured {
  readonly tiles: number
  readonly plannedPeakBytes: number
  readonly measuredPeakBytes: number
  readonly arenaBytes: number
  /** Predicted and measured peak bytes of the host pool. */
  readonly plannedHostBytes: number
  readonly measuredHostBytes: number
  /** Highest growth of the heap during each step. */
  readonly heapBytes: readonly number[]
  /** What the malloc counter says while 4 MiB are allocated on purpose: it must see them. */
  readonly controlBytes: number
}

/** A line that is printed. */
export type Answer = { readonly measured: Measured } | { readonly thrown: string }

const slackBytes = 1 << 20

const networks: typeof builtIn = {
  ...builtIn,
  /** Its classifier reads so many features that a copy of them would be seen in the heap. */
  flat: ({ classes }) => model({ name: 'flat', layers: [conv2d({ out: 16, k: 3, p: 1 }), relu, flatten, linear({ out: classes })] })
}

const counts = openSync(process.env['MALLOC_COUNTS']!, 'r+')
const count = (place: number): number => {
  const bytes = Buffer.alloc(8)
  readSync(counts, bytes, 0, 8, 8 * place)
  return Number(bytes.readBigInt64LE())
}

/** The heap's highest growth over its size at the start, in bytes. */
const heapGrowth = async (work: () => Promise<void>): Promise<number> => {
  const before = count(0)
  const bytes = Buffer.alloc(8)
  bytes.writeBigInt64LE(BigInt(before))
  writeSync(counts, bytes, 0, 8, 8)
  await work()
  return count(1) - before
}

const measure = async ({
  device,
  network,
  narrowed = 1,
  input,
  strategy,
  budget,
  hostBudget,
  segments,
  placement,
  training
}: Wanted): Promise<Measured> => {
  const threads = 2
  const request = {
    model: narrow(networks[network]!({ classes: 2, head: 'gap' }), narrowed),
    input,
    device: must(deviceModel(device, 'float32', threads)),
    strategy,
    ...(budget === undefined ? {} : { budget: { bytes: budget } }),
    ...(hostBudget === undefined ? {} : { hostBudget: { bytes: hostBudget } }),
    ...(segments === undefined ? {} : { given: asWritten(segments, placement) }),
    ...(placement && { placement }),
    objective: { kind: 'train', optimizer: { kind: 'sgd', momentum: 0.9, weightDecay: 5e-4 }, ...training },
    source: { kind: 'image', mean: [0.5, 0.5, 0.5], deviation: [0.25, 0.25, 0.25] }
  } as const
  const { program, graph, plan } = must(stage(request))
  const arenaBytes = program.peakBytes + slackBytes
  const session = must(openSession({ device, program, arenaBytes }))
  const restored = createStepIo(program.restore)
  graph.parameters.forEach(({ name, role, shape }) => {
    const values = restored.view(name) as Float32Array
    // Normalisation starts as the identity, biases and means at zero.
    if (shape.length > 1) values.set(uniform(name, values.length, (2 * shape[0]!) ** 0.5 / values.length ** 0.5))
    else if (role === 'runningVariance' || role === 'weight') values.fill(1)
  })
  const [batch, channels, height, width] = input
  const images = Array.from({ length: batch }, (_, index) => ({
    pixels: Uint8Array.from({ length: height * width * channels }, (__, position) => ((position + 1) * (index + 7) * 2654435761) >>> 24),
    height,
    width,
    channels,
    cropTop: 0,
    cropLeft: 0,
    flipHorizontal: index % 2 === 1,
    flipVertical: false,
    quarterTurns: 0 as const
  }))
  must(await session.run('restore', restored.buffer, { learningRate: 0, step: 0, seed: 1 }, [])())
  const io = createStepIo(program.step)
  const updated = program.update && createStepIo(program.update)
  const evaluated = program.evaluate && createStepIo(program.evaluate)
  const heapBytes: number[] = []
  for (let step = 0; step < 3; step += 1)
    heapBytes.push(
      await heapGrowth(async () => {
        const parameters = { learningRate: 1e-3, step, seed: 1 }
        must(await session.run('step', io.buffer, parameters, images)())
        if (updated !== undefined) must(await session.run('update', updated.buffer, parameters, [])())
        if (evaluated !== undefined) must(await session.run('evaluate', evaluated.buffer, parameters, images)())
      })
    )
  const controlBytes = await heapGrowth(async () => void new ArrayBuffer(4 << 20))
  const [measuredPeakBytes, measuredHostBytes] = [session.measuredPeakBytes(), session.measuredHostPeakBytes()]
  session.close()
  const tiles = Math.max(...plan.segments.map(({ grid }) => grid.B * grid.H * grid.W))
  const host = { plannedHostBytes: program.hostBytes, measuredHostBytes }
  return { tiles, plannedPeakBytes: program.peakBytes, measuredPeakBytes, arenaBytes, ...host, heapBytes, controlBytes }
}

/** Prints a line for each as it ends: what it measured, or what was thrown. */
const measureAll = async (all: readonly Wanted[]): Promise<void> => {
  for (const wanted of all) {
    const answer: Answer = await measure(wanted).then(
      (measured) => ({ measured }),
      (thrown: unknown) => ({ thrown: String(thrown) })
    )
    process.stdout.write(`${JSON.stringify(answer)}\n`)
  }
}

void measureAll(JSON.parse(process.argv.at(-1)!) as readonly Wanted[])
