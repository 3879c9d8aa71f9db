/**
 * Plans for the H200 that devices/h200-bf16.json recorded, held to what it took
 * (bench/results/2026-11-26-h200).
 */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { plan } from '../../src'
import { valueOf } from './outcome'

const vgg16 = { model: 'vgg16', classes: 2, device: 'devices/h200-bf16.json', input: [1, 3, 1024, 1024] } as const

/** engines-first.txt: the fastest of 12 steps of `bench vgg16 --no-measure --strategy plain`. */
const seen = { milliseconds: 5.33, mebibytes: 766 }

test("plain's step is predicted within 15 % of the measured one, and its memory to the MiB", async () => {
  const { predictedStepMs, peakDeviceBytes } = await valueOf(plan({ ...vgg16, strategy: 'plain' }))
  assert.ok(Math.abs(predictedStepMs / seen.milliseconds - 1) < 0.15, `${predictedStepMs} ms`)
  assert.ok(Math.abs(peakDeviceBytes / 2 ** 20 - seen.mebibytes) < 1, `${peakDeviceBytes} bytes`)
})

test('the recording answers for itself: all times of plain are measured ones, and less memory costs time', async () => {
  const [plain, tiled] = [await valueOf(plan({ ...vgg16, strategy: 'plain' })), await valueOf(plan({ ...vgg16, budget: '40%' }))]
  assert.ok(plain.timesFrom.measured > 0.99, JSON.stringify(plain.timesFrom))
  assert.ok(tiled.predictedStepMs > plain.predictedStepMs && tiled.predictedStepMs < 1.5 * plain.predictedStepMs)
  assert.ok(tiled.peakDeviceBytes < 0.4 * plain.peakDeviceBytes * 1.01)
})

test.run()
