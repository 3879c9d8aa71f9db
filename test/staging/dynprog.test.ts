import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as E from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { builtIn } from '../../models'
import { stage, type StageRequest, type StrategyName } from '../../staging'
import { type DescribedDevice, decodeDeviceFile, fileModel } from '../../staging/devices/file-model'
import { must } from '../must'

const v100 = must(
  decodeDeviceFile(JSON.parse(readFileSync(join(__dirname, '..', '..', 'devices', 'v100-16gb.json'), 'utf8')))
) as DescribedDevice

const request = (model: string, strategy: StrategyName, budget: number): StageRequest => ({
  model: builtIn[model]!({ classes: 2 }),
  input: [8, 3, 512, 512],
  device: fileModel(v100, 'float32'),
  strategy,
  budget: { bytes: budget },
  objective: { kind: 'train', optimizer: { kind: 'sgd', momentum: 0.9, weightDecay: 0 } },
  source: { kind: 'image', mean: [0, 0, 0], deviation: [1, 1, 1] }
})

test('DYNPROG fits where GREEDY does, and is never slower: its set may live in the least memory and not lie in it', () => {
  for (const model of ['vgg16', 'vgg19', 'resnet18']) {
    const refused = stage(request(model, 'greedy', 4096))
    const least = E.isLeft(refused) ? refused.left.smallestFeasibleBudgetBytes! : 0
    for (const budget of [least, 1.05 * least, 1.2 * least]) {
      const [dynprog, greedy] = (['dynprog', 'greedy'] as const).map(
        (strategy) => must(stage(request(model, strategy, Math.floor(budget)))).predicted.stepMilliseconds
      )
      assert.ok(dynprog! <= greedy!, `${model} in ${budget}: ${dynprog} and ${greedy}`)
    }
  }
})

test.run()
