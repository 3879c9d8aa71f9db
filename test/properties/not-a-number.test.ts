import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { conv2d, globalAvgPool, linear, maxPool2d, relu, softmaxCrossEntropy, type AnyLayer } from '../../dsl'
import { bf16Devices, fastDevices, testsDevice } from '../devices'
import { gradients } from '../golden/execute'

const layers: readonly AnyLayer[] = [
  conv2d({ out: 16, k: 3, p: 1 }),
  relu,
  maxPool2d({ k: 2 }),
  conv2d({ out: 16, k: 3, p: 1 }),
  relu,
  maxPool2d({ k: 3, s: 2, p: 1 }),
  globalAvgPool,
  linear({ out: 2 }),
  softmaxCrossEntropy
]
const input = [1, 3, 12, 12]
const weights = new Map<string, ArrayLike<number>>([
  ['0.weight', new Array<number>(16 * 3 * 9).fill(0.1)],
  ['0.bias', new Array<number>(16).fill(0)],
  ['3.weight', new Array<number>(16 * 16 * 9).fill(0.1)],
  ['3.bias', new Array<number>(16).fill(0)],
  ['7.weight', new Array<number>(2 * 16).fill(0.1)],
  ['7.bias', [0, 0]]
])

/** Divergence must be seen: what is not a number anywhere is not one in the loss. */
const ways = [...(['reference', ...fastDevices] as const).map((device) => ({ name: device, on: { device } })), ...bf16Devices()]
for (const { name, on } of ways.filter(({ on }) => testsDevice(on.device)))
  for (const strategy of ['plain', 'sft'] as const)
    test(`one pixel that is not a number reaches the loss: ${name}, ${strategy}`, async () => {
      const pixels = new Array<number>(3 * 12 * 12).fill(1)
      const run = (values: readonly number[]) =>
        gradients({ ...on, model: { name: 'net', layers }, input, strategy, weights, batch: { input: values, target: [1] } })
      assert.ok(Number.isFinite((await run(pixels)).loss))
      assert.ok(Number.isNaN((await run(pixels.with(70, NaN))).loss))
    })

test.run()
