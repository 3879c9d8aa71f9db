/** Updates give way to computing while their state comes from the host. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { builtIn } from '../../models'
import {
  buildRequestGraph,
  checkPlanFile,
  decodeDeviceFile,
  fileModel,
  stage,
  toPlanFile,
  verify,
  type DescribedDevice,
  type Plan,
  type Staged
} from '../../staging'
import { must } from '../must'

const v100 = must(decodeDeviceFile(JSON.parse(readFileSync(join(__dirname, '../../devices/v100-16gb.json'), 'utf8')))) as DescribedDevice

const request = {
  // Its last layers have the most weights, and its first compute the longest.
  model: builtIn.darknet19!({ classes: 2, head: 'gap' }),
  input: [1, 3, 512, 512],
  device: fileModel(v100, 'float32'),
  strategy: 'auto',
  objective: { kind: 'train', optimizer: { kind: 'sgd', momentum: 0.9, weightDecay: 0 } },
  source: { kind: 'float' },
  hostBudget: { bytes: 2 ** 40 }
} as const

const staged = (given: Plan): Staged => must(stage({ ...request, given }))
const found = must(stage({ ...request, budget: { fractionOfPlain: 0.5 } }))
const paced = (offloadOptimizer: Required<Plan>['offloadOptimizer']): Staged => staged({ ...found.plan, offloadOptimizer })

test('a plan that is found paces updates: faster than each at once, and than all at the end', () => {
  assert.ok(Array.isArray(found.plan.offloadOptimizer))
  for (const other of [true, []] as const) {
    const { stepMilliseconds } = paced(other).predicted
    assert.ok(found.predicted.stepMilliseconds < stepMilliseconds, `${found.predicted.stepMilliseconds} ms, and ${stepMilliseconds} ms`)
  }
})

test('Programs with any counts of pieces are sound', () => {
  for (const counts of [[], [0, 3], [2, 0, 0, 1], Array.from({ length: 99 }, () => 7)]) must(verify(paced(counts).program))
})

test('a plan file holds the counts', () => {
  const graph = must(buildRequestGraph(request))
  assert.equal(must(checkPlanFile(graph, undefined, toPlanFile(found))), found.plan)
})

test.run()
