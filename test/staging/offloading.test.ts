import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as E from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { builtIn } from '../../models'
import { conv2d, globalAvgPool, linear, maxPool2d, model, relu } from '../../dsl'
import {
  buildRequestGraph,
  checkPlanFile,
  decodeDeviceFile,
  explainModel,
  type DescribedDevice,
  fileModel,
  stage,
  stageEach,
  strategyNames,
  toPlanFile,
  verify,
  type Objective,
  type StageRequest,
  type Staged
} from '../../staging'
import { inSystems } from '../in-systems'
import { must } from '../must'

const v100 = must(decodeDeviceFile(JSON.parse(readFileSync(join(__dirname, '../../devices/v100-16gb.json'), 'utf8')))) as DescribedDevice
const training: Objective = { kind: 'train', optimizer: { kind: 'adam', beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0 } }

const convolution = (out: number) => [conv2d({ out, k: 3, p: 1 }), relu] as const
/** Two thirds of what it needs are weights and optimizer state. */
const net = model({
  name: 'heavy',
  layers: [
    ...convolution(32),
    maxPool2d({ k: 2, s: 2 }),
    ...convolution(128),
    ...convolution(256),
    maxPool2d({ k: 2, s: 2 }),
    ...convolution(384),
    ...convolution(384),
    globalAvgPool,
    linear({ out: 10 })
  ]
})
const input = [2, 3, 64, 64] as const
const request: Omit<StageRequest, 'strategy'> = {
  ...{ model: net, input, device: fileModel(v100, 'float32'), objective: training, source: { kind: 'float' } }
}
const unlimited = 2 ** 40
const peak = must(stage({ ...request, strategy: 'plain' })).predicted.peakDeviceBytes
const graph = must(buildRequestGraph(request))
const withHost = (host: number) => stageEach(graph, { ...request, hostBudget: { bytes: host } })
const staged = withHost(unlimited)
const shareOfPlain = (share: number) => ({ bytes: Math.floor(share * peak) })
const auto = (share: number): Staged => must(staged({ strategy: 'auto', budget: shareOfPlain(share) }))
/** So little that weights leave too. */
const leastShare = 0.45
const milliseconds = E.match(
  () => Infinity,
  ({ predicted }: Staged) => predicted.stepMilliseconds
)

test('optimizer state leaves for the host where that is faster, within the budget, and the Program is proven', () => {
  const found = auto(0.6)
  assert.is(found.plan.offloadOptimizer, true)
  assert.ok(found.predicted.peakDeviceBytes <= 0.6 * peak)
  assert.is(must(verify(found.program)).hostPeakBytes, found.predicted.peakHostBytes)
  const others = strategyNames
    .filter((name) => name !== 'auto')
    .map((strategy) => milliseconds(staged({ strategy, budget: shareOfPlain(0.6) })))
  assert.ok(others.every((time) => found.predicted.stepMilliseconds < time))
})

test('plans whose update follows all micro-batches are bounded with it: few are looked at', () => {
  for (const more of [{ clipNorm: 1 }, { accumulate: 4 }, { accumulate: 4, ranks: 4 }]) {
    let plans = 0
    must(
      stage({
        ...{ ...request, input: [2, 3, 256, 256], objective: { ...training, ...more }, strategy: 'auto' },
        ...{ budget: { fractionOfPlain: 0.7 }, hostBudget: { bytes: unlimited } },
        onSearch: (searched) => void (plans = searched.plans)
      })
    )
    assert.ok(plans < 12, `${plans} of ${JSON.stringify(more)}`)
  }
})

test('more memory, on the device or on the host, never predicts a slower plan', () => {
  const shares = Array.from({ length: inSystems ? 13 : 7 }, (_, index) => 0.3 + (inSystems ? 0.06 : 0.12) * index)
  const hosts = (inSystems ? [0, 0.1, 0.3, 0.5, 0.8] : [0, 0.3, 0.8]).map((share) => Math.floor(share * peak))
  const times = [...hosts, unlimited].map((host) => {
    const within = withHost(host)
    return shares.map((share) => milliseconds(within({ strategy: 'auto', budget: shareOfPlain(share) })))
  })
  times.forEach((row, host) =>
    row.forEach((time, place) => {
      assert.ok(time <= (row[place - 1] ?? Infinity), `${time} ms in ${shares[place]}`)
      assert.ok(time <= (times[host - 1]?.[place] ?? Infinity), `${time} ms with more on the host`)
    })
  )
})

test('the smallest budget that a refusal names is enough, and one byte less is not', () => {
  const refused = staged({ strategy: 'auto', budget: { bytes: 1000 } })
  assert.ok(E.isLeft(refused))
  const least = refused.left.smallestFeasibleBudgetBytes!
  const found = must(staged({ strategy: 'auto', budget: { bytes: least } }))
  assert.is(found.plan.offloadOptimizer, true)
  assert.ok(found.plan.offloadWeights! > 0, 'weights leave too')
  const less = staged({ strategy: 'auto', budget: { bytes: least - 1 } })
  assert.ok(E.isLeft(less) && less.left.smallestFeasibleBudgetBytes === least)
})

test('a Program that computes without waiting for state or weights is refused', () => {
  // What comes first is there where what came after it was waited for.
  for (const [share, least, spared] of [
    [0.6, 10, 0],
    [leastShare, 20, 4]
  ] as const) {
    const { program } = auto(share)
    const { code } = program.step
    const loaded = new Set(code.flatMap((one) => (one.kind === 'record' && one.engine === 'to-device' ? [one.event] : [])))
    const waits = [...code.entries()].flatMap(([position, one]) => (one.kind === 'wait' && loaded.has(one.event) ? [position] : []))
    const races = waits.filter((position) => {
      const verified = verify({ ...program, step: { ...program.step, code: code.filter((_, at) => at !== position) } })
      return E.isLeft(verified) && verified.left.kind === 'race'
    })
    assert.ok(waits.length >= least && waits.length - races.length <= spared, `${races.length} races of ${waits.length}`)
  }
})

test('a plan file holds the decisions, and they are refused where ranks have slices of what moves', () => {
  const found = auto(leastShare)
  const file = toPlanFile(found)
  assert.is(file.offloadOptimizer, true)
  assert.is(file.offloadWeights, found.plan.offloadWeights)
  const plan = must(checkPlanFile(graph, undefined, file))
  assert.equal(plan, found.plan)
  const again = must(stage({ ...request, strategy: 'auto', given: plan }))
  assert.equal(again.program, found.program)
  const { offloadOptimizer: _, ...weightsAlone } = plan
  for (const [given, name] of [
    [plan, 'offloadOptimizer'],
    [weightsAlone, 'offloadWeights']
  ] as const) {
    const ranks = stage({ ...request, strategy: 'auto', given, objective: { ...training, accumulate: 2, ranks: 2 } })
    assert.ok(E.isLeft(ranks) && ranks.left.message.includes(`leave out ${name}`))
  }
})

test('an explanation counts what came among weights and state, and tells how long computing waits for them', () => {
  const found = must(explainModel({ ...request, strategy: 'auto', budget: shareOfPlain(leastShare), hostBudget: { bytes: unlimited } }))
  assert.ok(found.plan.offloadWeights !== undefined && found.waitingMilliseconds > 0)
  const { offloadOptimizer: _, offloadWeights: _weights, swapSchedule: _swaps, ...staying } = found.plan
  const resident = must(stage({ ...request, strategy: 'auto', given: staying })).predicted
  assert.is(found.waitingMilliseconds, found.predicted.stepMilliseconds - resident.stepMilliseconds)
  assert.match(found.live.find(({ what }) => what === 'parameters')!.largest, /^loaded /)
  assert.ok(found.live.every(({ what, largest }) => what === 'parameters' || what === 'optimizer state' || !largest.startsWith('loaded')))
})

/** Of a built-in network at 512 pixels a side, in 30 % of plain: its time over the bound. */
const timesOfBound = (name: string): number => {
  const { predicted } = must(
    stage({
      ...request,
      model: builtIn[name]!({ classes: 2, head: 'gap' }),
      input: [1, 3, 512, 512],
      objective: { kind: 'train', optimizer: { kind: 'sgd', momentum: 0.9, weightDecay: 0 } },
      strategy: 'auto',
      budget: { fractionOfPlain: 0.3 },
      hostBudget: { bytes: unlimited }
    })
  )
  return predicted.stepMilliseconds / predicted.lowerBoundMilliseconds
}

test('where the link is slow, segments keep less, so that little need be moved beside the optimizer state', () => {
  // All that is kept takes 3.5 times as long to pass as the step takes to compute.
  const times = timesOfBound('resnet50')
  assert.ok(times < 1.6, `${times}`)
})

test('where bands pass the link, segments move less beside them', () => {
  // By segments of least time, whatever they move: 1.226.
  const times = timesOfBound('vgg16')
  assert.ok(times < 1.22, `${times}`)
})

test.run()
