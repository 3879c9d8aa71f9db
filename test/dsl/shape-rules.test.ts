import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as E from 'fp-ts/Either'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { shapeRules, windowOf, type Op, type OpArguments, type Shape, type ShapeRule } from '../../dsl'

interface Case {
  readonly op: 'conv2d' | 'maxPool2d' | 'avgPool2d'
  readonly args: OpArguments['conv2d'] & OpArguments['maxPool2d'] & OpArguments['avgPool2d']
  readonly size: readonly [number, number]
  readonly out: readonly [number, number] | null
}

/** PyTorch's answers; shapes.py beside it made them. */
const cases: readonly Case[] = JSON.parse(readFileSync(join(__dirname, 'shapes.json'), 'utf8'))

/** Of an op of one tensor, in a net or block that starts with `start`. */
const shapeOf = <P extends Op>(op: P, args: OpArguments[P], input: Shape, start: Shape = []): E.Either<string, Shape> =>
  (shapeRules[op] as ShapeRule<OpArguments[P]>)(args, [input], start)

const shapes = suite('shape rules')

shapes('windows are counted as PyTorch counts them', () => {
  for (const { op, args, size, out } of cases) {
    const result = shapeOf(op, args, [1, 1, ...size])
    assert.equal(E.isRight(result) ? result.right.slice(2) : null, out, JSON.stringify({ op, args, size }))
  }
})

shapes('the golden cases hold refusals and partial windows', () => {
  assert.ok(cases.some(({ out }) => out === null))
  assert.ok(
    cases.some(({ op, args, size, out }) => {
      const floor = op === 'maxPool2d' && shapeOf('maxPool2d', { ...args, ceilMode: false }, [1, 1, ...size])
      return out !== null && floor && E.isRight(floor) && floor.right[2] !== out[0]
    })
  )
})

shapes('asymmetric padding counts each side', () => {
  const args = { out: 4, k: [2, 3], p: [1, 0, 2, 3] } as const
  assert.equal(shapeOf('conv2d', args, [2, 3, 4, 5]), E.right([2, 4, 4, 8]))
  assert.equal(windowOf(args), { kernel: [2, 3], stride: [1, 1], dilation: [1, 1], padding: { top: 1, bottom: 0, left: 2, right: 3 } })
})

shapes('a pool steps by its kernel, a convolution by one', () => {
  assert.equal(windowOf({ k: [2, 3] }).stride, [2, 3])
  assert.equal(windowOf({ out: 1, k: [2, 3] }).stride, [1, 1])
  assert.equal(windowOf({ k: 3, s: [1, 2], p: [0, 1], d: 2 }), {
    kernel: [3, 3],
    stride: [1, 2],
    dilation: [2, 2],
    padding: { top: 0, bottom: 0, left: 1, right: 1 }
  })
})

shapes('heads and losses drop the pixels', () => {
  assert.equal(shapeOf('globalAvgPool', {}, [2, 3, 4, 5]), E.right([2, 3]))
  assert.equal(shapeOf('flatten', {}, [2, 3, 4, 5]), E.right([2, 60]))
  assert.equal(shapeOf('linear', { out: 7, in: 60 }, [2, 60]), E.right([2, 7]))
  assert.equal(shapeOf('softmaxCrossEntropy', {}, [2, 7]), E.right([]))
  assert.equal(shapeOf('meanSquaredError', {}, [2, 3, 4, 5]), E.right([]))
})

shapes('options that no compiler saw are refused', () => {
  const untyped = (args: object): OpArguments['conv2d'] => args as OpArguments['conv2d']
  assert.equal(shapeOf('conv2d', untyped({ out: 1, k: 1, padding: 1 }), [1, 1, 4, 4]), E.left('conv2d: there is no option padding'))
  for (const args of [
    { out: 1 },
    { out: 1, k: '3' },
    { out: 1, k: [3] },
    { out: 1, k: 3, p: [1, 2, 3] },
    { out: NaN, k: 1 },
    { k: 1, s: 0 }
  ])
    assert.equal(
      shapeOf('conv2d', untyped(args), [1, 1, 4, 4]),
      E.left('conv2d: sizes must be whole numbers above 0, and paddings at least 0'),
      JSON.stringify(args)
    )
})

shapes.run()
