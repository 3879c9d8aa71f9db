import { test } from 'uvu'
import { gradients, trainSteps } from '../golden/execute'
import { randomSegments } from '../staging/random-segments'
import { assertClose, assertTensorsClose, randomExecution } from './random-execution'
const from = Number(process.env.SEED ?? 0), count = Number(process.env.N ?? 100)
test('graphs', async () => {
  let failed = 0
  for (let seed = from; seed < from + count; seed++) {
    try {
      const { draw, graph, ...execution } = randomExecution(seed, 'graph')
      const segments = randomSegments(draw, graph)
      const plain = await gradients({ ...execution, strategy: 'plain' })
      const tiled = await gradients({ ...execution, segments })
      assertClose(tiled, plain, 1e-12)
      const step = { optimizer: { kind: 'sgd', momentum: 0.9, weightDecay: 1e-3 } as const, learningRate: 0.01, steps: 1 }
      const [plainStep, tiledStep] = [await trainSteps({ ...execution, strategy: 'plain' }, step), await trainSteps({ ...execution, segments }, step)]
      assertTensorsClose(tiledStep.tensors, plainStep.tensors, 1e-12)
    } catch (error) {
      failed++
      if (failed <= 12) console.log(seed, (error as Error).message.slice(0, 300), (error as Error).stack?.split('\n').slice(1, process.env.STACK ? 14 : 4).join('|'))
    }
  }
  console.log('failed', failed, 'of', count)
})
test.run()
