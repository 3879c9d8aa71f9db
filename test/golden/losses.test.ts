/**
 * Losses and their gradients, as PyTorch's: on every device, untiled and in tiles that are as small
 * as they can be, with the sums over images that Dice and Tversky need.
 */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import * as dsl from '../../dsl'
import type { Segment } from '../../staging'
import { onFastDevices } from '../devices'
import { gradients, type Execution } from './execute'
import { goldenJson } from './files'

interface Golden {
  readonly op: 'classLoss' | 'pixelLoss' | 'overlapLoss' | 'valueLoss'
  readonly args: { readonly loss: string; readonly classWeights?: readonly number[] }
  readonly input: readonly number[]
  readonly scores: readonly number[]
  /** null stands for NaN, which does not count. */
  readonly target: readonly (number | null)[]
  readonly loss: number
  readonly gradient: readonly number[]
}

const { cases } = goldenJson<{ readonly cases: readonly Golden[] }>('losses')

/** Leaves scores as they are, so that a segment may end before the loss. */
const same = dsl.pointwise('same', (x) => x)

const executionOf = ({ op, args, input, scores, target }: Golden): Execution => {
  const [batch, channels, height = 1, width = 1] = input
  const layers = [same, ...(input.length === 2 ? [dsl.flatten] : []), (dsl[op] as (args: object) => dsl.AnyLayer)(args)]
  return {
    model: { name: 'net', layers },
    input: [batch!, channels!, height, width],
    device: 'reference',
    strategy: 'plain',
    threads: 1,
    weights: new Map(),
    batch: { input: scores, target: target.map((value) => value ?? NaN) }
  }
}

/**
 * All of it as one segment in tiles along the batch; images beside that in tiles of a row and a
 * third of the columns.
 */
const tilings = ({ op, input: [batch = 1, , height = 1] }: Golden): readonly (readonly Segment[])[] => {
  const ops = height === 1 ? 3 : 2
  const images = { B: batch, H: height, W: height > 1 ? 3 : 1 }
  const segment = (from: number, to: number, grid: Segment['grid'], recompute = true): Segment => ({
    from,
    to,
    grid,
    recompute,
    reorder: 'once'
  })
  return [
    [segment(0, ops, { B: batch, H: 1, W: 1 })],
    [segment(0, ops - 1, images), segment(ops - 1, ops, images, false)],
    ...(op === 'overlapLoss' || height === 1 ? [] : [[segment(0, ops, images)]])
  ]
}

const close = (what: string, found: number, expected: number, tolerance: number): void =>
  assert.ok(Math.abs(found - expected) <= tolerance * (1 + Math.abs(expected)), `${what}: ${found} where PyTorch has ${expected}`)

const check = async (golden: Golden, execution: Execution, tolerance: number): Promise<void> => {
  const { loss, tensors } = await gradients(execution)
  close('the loss', loss, golden.loss, tolerance)
  const found = tensors.get('grad.input')!
  golden.gradient.forEach((expected, index) => close(`the gradient of score ${index}`, found[index]!, expected, tolerance))
}

const losses = suite('losses')

for (const golden of cases) {
  const { op, args, input } = golden
  const name = `${op} ${args.loss} of ${input.join('x')}${args.classWeights === undefined ? '' : ' with class weights'}`
  losses(name, async () => {
    const execution = executionOf(golden)
    await check(golden, execution, 1e-12)
    for (const segments of tilings(golden)) await check(golden, { ...execution, segments }, 1e-12)
  })
  onFastDevices(losses, name, async (device) => {
    const execution = { ...executionOf(golden), device }
    for (const segments of tilings(golden)) await check(golden, { ...execution, segments }, 2e-6)
  })
}

losses('each loss of a formula is there', () => {
  // Terms are joined by +; a weight stands before a name, its options behind a colon.
  const terms = cases.flatMap(({ args }) => args.loss.split('+').map((term) => term.replace(/^.*\*|:.*$/g, '')))
  for (const name of Object.keys(dsl.lossTable)) assert.ok(terms.includes(name), name)
})

losses.run()
