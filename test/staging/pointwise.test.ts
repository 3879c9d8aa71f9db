/** Functions that no device could run are refused by sentence. */
import * as E from 'fp-ts/Either'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import * as dsl from '../../dsl'
import { buildGraph } from '../../staging'

const refusal = (layer: dsl.AnyLayer): string => {
  const built = buildGraph(dsl.model({ name: 'one', layers: [layer, dsl.meanSquaredError] as dsl.Layers }) as dsl.Model, [1, 2, 4, 4])
  return E.isLeft(built) ? built.left.message : ''
}

test('of many values at once', () => {
  const wide = dsl.pointwise('wide', (x) =>
    Array.from({ length: 40 }, (_, place) => x.add(place).exp()).reduceRight((rest, value) => value.mul(rest))
  )
  assert.is(
    refusal(wide),
    'one on 1x2x4x4: 0: wide: it or its gradient needs more than the 32 values at once that devices have; make two layers of it.'
  )
})

test('of many steps, by itself or in its gradient', () => {
  const long = (steps: number): dsl.AnyLayer =>
    dsl.pointwise('long', (x) => Array.from({ length: steps }).reduce<dsl.Value>((value) => value.tanh(), x))
  assert.is(refusal(long(300)), 'one on 1x2x4x4: 0: long: its expression has 301 steps, over the 256 that devices take.')
  assert.is(
    refusal(long(200)),
    'one on 1x2x4x4: 0: long: its gradient has more than the 256 steps that devices take; make two layers of it.'
  )
  assert.is(refusal(long(20)), '')
  assert.is(refusal(long(20000)), 'one on 1x2x4x4: 0: long: its expression has 20001 steps, over the 256 that devices take.')
})

test('that read what there is not', () => {
  const reading = (...leaves: readonly ('input' | 'gradient' | 'second' | 'weight')[]): dsl.AnyLayer => {
    const [expression, derivativeOfOutput] = leaves.map((leaf) => [[leaf]] as const)
    return { op: 'pointwise', args: { function: 'f', expression, ...(derivativeOfOutput && { derivativeOfOutput }) } } as dsl.AnyLayer
  }
  for (const leaf of ['gradient', 'second'] as const)
    assert.is(refusal(reading(leaf)), `one on 1x2x4x4: 0: f: its expression reads ${leaf}, which there is not.`)
  for (const leaf of ['gradient', 'weight'] as const)
    assert.is(refusal(reading('input', leaf)), `one on 1x2x4x4: 0: f: the derivative of its output reads ${leaf}, which there is not.`)
  assert.is(refusal(reading('input')), '')
})

test('that read what they do not declare, or have no finite constants', () => {
  const { args } = dsl.pointwise('scale', (x, { weight }) => x.mul(weight), { weight: { initial: 1 } })
  const without = { op: 'pointwise', args: { function: args.function, expression: args.expression } } as dsl.AnyLayer
  assert.is(refusal(without), 'one on 1x2x4x4: 0: scale: reads a weight that it does not declare.')
  assert.is(
    refusal(dsl.pointwise('far', (x) => x.mul(Infinity))),
    'one on 1x2x4x4: 0: far: its expression step 1: a constant is one finite number, not Infinity.'
  )
})

test('of what JavaScript gives in place of values, conditions and functions', () => {
  const said = (define: unknown): string => refusal(dsl.pointwise('f', define as (x: dsl.Value) => dsl.Value, {}))
  const sentence = (step: number, what: string): string =>
    `one on 1x2x4x4: 0: f: its expression step ${step}: a constant is one finite number, not ${what}.`
  assert.is(
    said((x: dsl.Value, { shift }: { readonly shift: dsl.Value }) => x.add(shift)),
    sentence(1, 'undefined')
  )
  assert.is(
    said((x: dsl.Value) => x.mul('2' as never)),
    sentence(1, '"2"')
  )
  assert.is(
    said((x: dsl.Value) => dsl.where(true as never, x, 0)),
    sentence(0, 'true')
  )
  assert.is(
    said(() => undefined),
    sentence(0, 'undefined')
  )
  assert.is(
    said((x: dsl.Value) => (x as unknown as number) * 2),
    sentence(0, 'NaN')
  )
  assert.is(said(undefined), 'one on 1x2x4x4: 0: f: its expression has no steps.')
})

test.run()
