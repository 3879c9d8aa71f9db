import { isRight } from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { conv2d, convTranspose2d, model, relu } from '../../dsl'
import { stage, verify } from '../../staging'
import { asWritten } from '../golden/execute'
import { must } from '../must'
import { objectives, winogradDevice } from './training-cases'

const net = model({ name: 'up', layers: [conv2d({ out: 4, k: 3, p: 1 }), convTranspose2d({ out: 2, k: 2, s: 2 }), relu] })

test('tiles share the rounded weights of a transposed convolution in the layout that its forward reads', () => {
  for (const reorder of ['once', 'each-tile'] as const)
    for (const objective of [...objectives, { kind: 'evaluate' } as const]) {
      const given = asWritten([
        { from: 0, to: 3, grid: { B: 1, H: 4, W: 1 }, recompute: true, reorder },
        { from: 3, to: 4, grid: { B: 1, H: 1, W: 1 }, recompute: false, reorder }
      ])
      const staged = must(
        stage({
          model: net,
          input: [1, 3, 16, 16],
          strategy: 'plain',
          device: winogradDevice('bf16'),
          objective,
          source: { kind: 'float' },
          given
        })
      )
      const verified = verify(staged.program)
      assert.ok(isRight(verified), JSON.stringify(verified))
    }
})

test.run()
