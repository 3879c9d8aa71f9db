/**
 * One training step of VGG-16 (head gap, two classes; SGD with momentum 0.9) for each line on standard input:
 *
 *     npx ts-node bench/tilefold_vgg16.ts --height 1024 --width 1024 --threads 2 [--fraction 0.2]
 *
 * `fraction`: strategy sft within this part of what plain needs; strategy plain where absent. Prints one JSON object a step,
 * as pytorch_vgg16.py does: {"ms", "loss", "peakBytes"}; peakBytes is the process's peak resident set less what was resident
 * before the session was opened.
 */
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import * as E from 'fp-ts/Either'
import { vgg16 } from '../models'
import { openSession } from '../native'
import { deviceOf } from '../src/device'
import { exchangeFor } from '../src/exchange'
import { initialise } from '../src/initialise'
import { stage } from '../staging'

const must = <A>(result: E.Either<{ readonly message: string }, A>): A => {
  if (E.isRight(result)) return result.right
  process.stderr.write(`${result.left.message}\n`)
  process.exit(1)
}

const say = (values: object): void => void process.stdout.write(`${JSON.stringify(values)}\n`)

const main = async (): Promise<void> => {
  const { values } = parseArgs({
    options: { height: { type: 'string' }, width: { type: 'string' }, threads: { type: 'string' }, fraction: { type: 'string' } }
  })
  const [height, width, threads] = [Number(values.height), Number(values.width), Number(values.threads)]
  const model = vgg16({ classes: 2, head: 'gap' })
  const request = {
    model,
    input: [1, 3, height, width],
    device: must(deviceOf({ model, device: 'cpu', threads })),
    objective: { kind: 'train', optimizer: { kind: 'sgd', momentum: 0.9, weightDecay: 0 } },
    source: { kind: 'image', mean: [0.5, 0.5, 0.5], deviation: [0.25, 0.25, 0.25] }
  } as const
  const plain = must(stage({ ...request, strategy: 'plain' }))
  const budget = Math.floor(Number(values.fraction) * plain.program.peakBytes)
  const { program, graph, plan } = values.fraction === undefined ? plain : must(stage({ ...request, strategy: 'sft', budget }))
  const arenaBytes = values.fraction === undefined ? program.peakBytes : budget
  const before = process.memoryUsage.rss()
  const session = must(openSession({ device: 'cpu', program, arenaBytes }))

  const restored = exchangeFor(program.restore)
  graph.parameters.forEach(({ name, shape }) => initialise(1, name, shape, restored.view(name) as Float32Array))
  must(await session.run('restore', restored.buffer, { learningRate: 0, step: 0, seed: 1 }, [])())
  const pixels = Uint8Array.from({ length: height * width * 3 }, (_, position) => Math.imul(position + 1, 2654435761) >>> 24)
  const images = [
    { pixels, height, width, channels: 3, cropTop: 0, cropLeft: 0, flipHorizontal: false, flipVertical: false, quarterTurns: 0 }
  ] as const
  const exchange = exchangeFor(program.step)
  say({
    ready: true,
    version: 'Tilefold',
    arenaBytes,
    predictedMs: plan.predicted.stepMilliseconds,
    haloOverhead: plan.predicted.haloOverhead
  })

  let step = 0
  for await (const _ of createInterface({ input: process.stdin })) {
    const started = performance.now()
    must(await session.run('step', exchange.buffer, { learningRate: 1e-3, step, seed: 1 }, images)())
    const ms = performance.now() - started
    step += 1
    say({ ms, loss: exchange.view('loss')[0], peakBytes: process.resourceUsage().maxRSS * 1024 - before })
  }
  session.close()
}

void main()
