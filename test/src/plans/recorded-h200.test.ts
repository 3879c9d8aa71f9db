/**
 * Plans for the H200 that devices/h200-bf16.json recorded, held to what it took
 * (bench/results/2026-11-26-h200).
 */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { plan } from '../../../src'
import { valueOf } from '../outcome'

const vgg16 = { model: 'vgg16', classes: 2, device: 'devices/h200-bf16.json', input: [1, 3, 1024, 1024] } as const

/** engines-first.txt: the median step of a plan by cuDNN's heuristics alone. */
const seen = { milliseconds: 5.42, mebibytes: 766 }

test('plain by measured times is predicted to be a fifth faster at most than it was by heuristics, in its memory', async () => {
  const { predictedStepMs, peakDeviceBytes } = await valueOf(plan({ ...vgg16, strategy: 'plain' }))
  assert.ok(predictedStepMs > 0.8 * seen.milliseconds && predictedStepMs < seen.milliseconds, `${predictedStepMs} ms`)
  assert.ok(Math.abs(peakDeviceBytes / 2 ** 20 - seen.mebibytes) < 1, `${peakDeviceBytes} bytes`)
})

test('the recording answers for itself: all times of plain are measured ones, and less memory costs time', async () => {
  const [plain, tiled] = [await valueOf(plan({ ...vgg16, strategy: 'plain' })), await valueOf(plan({ ...vgg16, budget: '40%' }))]
  assert.ok(plain.timesFrom.measured > 0.99, JSON.stringify(plain.timesFrom))
  assert.ok(tiled.predictedStepMs > plain.predictedStepMs && tiled.predictedStepMs < 1.5 * plain.predictedStepMs)
  assert.ok(tiled.peakDeviceBytes < 0.4 * plain.peakDeviceBytes * 1.01)
})

test.run()
