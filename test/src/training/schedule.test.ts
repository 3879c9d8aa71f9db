import * as E from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { resolveOptimizer } from '../../../src/training/optimizer'
import { type LearningRateSchedule, learningRate, parseSchedule } from '../../../src/training/learning-rate'
import { must } from '../../must'

const rates = (text: string, steps: readonly number[]): readonly number[] => {
  const schedule = must(parseSchedule(text))
  return steps.map((step) => learningRate(schedule, 0.4, step, 100))
}

test('constant, step and cosine', () => {
  assert.equal(rates('constant', [0, 99]), [0.4, 0.4])
  assert.equal(rates('step:30:0.5', [0, 29, 30, 60]), [0.4, 0.4, 0.2, 0.1])
  const [first, middle, last] = rates('cosine', [0, 50, 100])
  assert.is(first, 0.4)
  assert.ok(Math.abs(middle! - 0.2) < 1e-12 && Math.abs(last!) < 1e-12)
})

test('other schedules are a sentence', () => {
  for (const text of ['linear', 'step', 'step:0:0.1', 'step:3:', 'step:3:0', 'cosine:3']) {
    const parsed = parseSchedule(text)
    assert.ok(E.isLeft(parsed) && parsed.left.startsWith(`"${text}" is not a schedule`), text)
  }
})

test('a warm-up rises to the rate, and the schedule counts from there', () => {
  const rates = (schedule: LearningRateSchedule): readonly number[] =>
    Array.from({ length: 8 }, (_, step) => Math.round(1e6 * learningRate(schedule, 1, step, 8, 4)) / 1e6)
  assert.equal(rates({ kind: 'constant' }), [0.25, 0.5, 0.75, 1, 1, 1, 1, 1])
  assert.equal(rates({ kind: 'step', every: 2, factor: 0.1 }), [0.25, 0.5, 0.75, 1, 1, 1, 0.1, 0.1])
  assert.equal(rates({ kind: 'cosine' }), [0.25, 0.5, 0.75, 1, 1, 0.853553, 0.5, 0.146447])
  assert.is(learningRate({ kind: 'cosine' }, 1, 1, 2, 4), 0.5)
})

test('optimizers take their defaults', () => {
  const adam = { beta1: 0.9, beta2: 0.999, epsilon: 1e-8 }
  assert.equal(resolveOptimizer({ optimizer: 'sgd' }), E.right({ kind: 'sgd', momentum: 0.9, weightDecay: 0 }))
  assert.equal(
    resolveOptimizer({ optimizer: 'sgd', momentum: 0, weightDecay: 1e-4 }),
    E.right({ kind: 'sgd', momentum: 0, weightDecay: 1e-4 })
  )
  assert.equal(resolveOptimizer({ optimizer: 'adam' }), E.right({ kind: 'adam', ...adam, weightDecay: 0 }))
  assert.equal(resolveOptimizer({ optimizer: 'adamw' }), E.right({ kind: 'adamw', ...adam, weightDecay: 0.01 }))
})

test('momentum belongs to sgd', () => {
  const resolved = resolveOptimizer({ optimizer: 'adam', momentum: 0.9 })
  assert.match(E.isLeft(resolved) ? resolved.left.message : '', 'momentum belongs to sgd')
})

test.run()
