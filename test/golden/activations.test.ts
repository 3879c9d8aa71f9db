/** Activation functions and their derivatives, as PyTorch's: at kinks, infinities and NaN too. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import * as dsl from '../../dsl'
import { getPointwiseFunctions } from '../../staging/pointwise/functions'
import { runKernel, targets, type Target } from '../native/program'
import { goldenJson } from './files'

type Written = number | string
interface Golden {
  readonly points: readonly Written[]
  readonly functions: Readonly<Record<string, { readonly values: readonly Written[]; readonly gradients: readonly Written[] }>>
}

const golden = goldenJson<Golden>('activations')
const numbers = (written: readonly Written[]): readonly number[] =>
  written.map((value) => (typeof value === 'number' ? value : { inf: Infinity, '-inf': -Infinity, nan: NaN }[value]!))

const layers: Readonly<Record<string, { readonly args: dsl.PointwiseArguments }>> = {
  sigmoid: dsl.sigmoid,
  tanh: dsl.tanh,
  silu: dsl.silu,
  gelu: dsl.gelu,
  hardswish: dsl.hardswish,
  hardsigmoid: dsl.hardsigmoid,
  relu6: dsl.relu6,
  mish: dsl.mish,
  elu: dsl.elu(),
  'elu 0.5': dsl.elu({ alpha: 0.5 }),
  softplus: dsl.softplus(),
  'softplus beta2 threshold10': dsl.softplus({ beta: 2, threshold: 10 }),
  hardshrink: dsl.hardshrink(),
  'hardshrink 2': dsl.hardshrink({ lambda: 2 }),
  'clamp min-1 max3': dsl.clamp({ min: -1, max: 3 }),
  prelu: dsl.prelu(),
  maximum: dsl.pointwise('maximum', (x) => x.maximum(0.5)),
  minimum: dsl.pointwise('minimum', (x) => x.minimum(0.5))
}

const points = numbers(golden.points)
const tile = { batch: 1, channels: 1, height: 1, width: points.length, layout: 0, broadcast: 0, weightPerChannel: 0, biasPerChannel: 0 }

/** PyTorch computes hardsigmoid's derivative with a sixth in float32. */
const ownRounding = 1e-8

/** The same infinities and NaN, and other numbers within the tolerance. */
const same = (name: string, found: readonly number[], written: readonly Written[], { tolerance }: Target): void =>
  numbers(written).forEach((expected, i) => {
    const isSame = Number.isFinite(expected)
      ? Math.abs(found[i]! - expected) <= Math.max(4 * tolerance, ownRounding) * (1 + Math.abs(expected))
      : Object.is(found[i]!, expected)
    assert.ok(isSame, `${name} at ${points[i]}: ${found[i]} where PyTorch has ${expected}`)
  })

const activations = suite('activations')

for (const [name, { values, gradients }] of Object.entries(golden.functions))
  for (const target of targets)
    activations(`${name}, ${target.device} ${target.precision}`, async () => {
      const { args } = layers[name]!
      const { forward, backward } = getPointwiseFunctions(args)
      const weight = args.weight && [args.weight.initial]
      const empty = points.map(() => 0)
      const y = (
        await runKernel({ kind: 'pointwiseForward', ...tile, expression: forward }, [points, undefined, weight, undefined, empty], target)
      )[4]!
      same(name, y, values, target)
      const kept = args.derivativeOfOutput === undefined ? points : y
      const ones = points.map(() => 1)
      const dx = (
        await runKernel(
          { kind: 'pointwiseBackward', ...tile, expression: backward('input') },
          [kept, undefined, weight, undefined, ones, empty],
          target
        )
      )[5]!
      same(`${name}'s gradient`, dx, gradients, target)
    })

activations('each is called as the table of PyTorch calls it', () =>
  assert.equal(
    Object.entries(layers).map(([, { args }]) => args.function),
    Object.keys(layers)
  )
)

activations.run()
