import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { conv2d, globalAvgPool, linear, model, relu, residual, type Layers } from '../../dsl'
import { referenceModel, stage } from '../../staging'
import { must } from '../must'
import { launches } from './verify/edit-program'

const convolution = conv2d({ out: 3, k: 3, p: 1 })

/** Copies and additions of activations in a plain step of a network with one such block. */
const copiesOf = (block: Layers): { readonly copied: number; readonly added: number } => {
  const layers = [convolution, ...block, globalAvgPool, linear({ out: 2 })]
  const { program } = must(
    stage({
      ...{ model: model({ name: 'sums', layers }), input: [1, 3, 8, 8], device: referenceModel('float32') },
      ...{ objective: { kind: 'gradients' }, source: { kind: 'float' }, strategy: 'plain' }
    })
  )
  const boxes = launches(program).flatMap(({ kernel }) => (kernel.kind === 'copyBox' && kernel.ofParameters === 0 ? [kernel.add] : []))
  return { copied: boxes.filter((add) => add === 0).length, added: boxes.filter((add) => add === 1).length }
}

test('the gradient of a sum is that of all it adds, without a copy', () => {
  assert.equal(copiesOf([residual([convolution, relu, convolution])]), { copied: 0, added: 1 })
  assert.equal(copiesOf([residual([convolution], [convolution])]), { copied: 0, added: 1 })
  assert.equal(copiesOf([residual([relu, convolution]), residual([relu, convolution])]), { copied: 0, added: 2 })
})

test('where a tensor is added twice, its gradient is copied before it is added to', () => {
  assert.equal(copiesOf([residual([], [])]), { copied: 1, added: 1 })
  assert.equal(copiesOf([residual([residual([convolution])])]), { copied: 1, added: 2 })
})

test.run()
