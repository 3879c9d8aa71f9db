import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as E from 'fp-ts/Either'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Shape } from '../../dsl'
import { shapeRules, toWindow, type Op, type OpArguments, type ShapeRule } from '../../dsl/internal'

type Sized = 'conv2d' | 'maxPool2d' | 'avgPool2d' | 'convTranspose2d' | 'resize' | 'adaptiveAvgPool2d' | 'pad' | 'pixelUnshuffle'
interface Case {
  readonly op: Sized
  readonly args: OpArguments[Sized]
  readonly size: readonly [number, number]
  readonly out: readonly [number, number] | null
}

/** PyTorch's answers; shapes.py beside it made them. */
const cases: readonly Case[] = JSON.parse(readFileSync(join(__dirname, 'shapes.json'), 'utf8'))

/** Of an op of one tensor, in a net or block that starts with `start`. */
const shapeOf = <P extends Op>(op: P, args: OpArguments[P], input: Shape, start: Shape = []): E.Either<string, Shape> =>
  (shapeRules[op] as ShapeRule<OpArguments[P]>)(args, [input], start)

const shapes = suite('shape rules')

shapes("heights and widths are PyTorch's", () => {
  for (const { op, args, size, out } of cases) {
    const result = shapeOf(op, args, [1, 1, ...size])
    const unreached = E.isLeft(result) && result.left.includes('adds a border that no window reaches')
    if (!unreached) assert.equal(E.isRight(result) ? result.right.slice(2) : null, out, JSON.stringify({ op, args, size }))
  }
})

shapes('the golden cases hold refusals and partial windows', () => {
  assert.ok(cases.some(({ out }) => out === null))
  assert.ok(
    cases.some(({ op, args, size, out }) => {
      const floor = op === 'maxPool2d' && shapeOf(op, { ...(args as OpArguments['maxPool2d']), ceilMode: false }, [1, 1, ...size])
      return out !== null && floor && E.isRight(floor) && floor.right[2] !== out[0]
    })
  )
})

shapes('asymmetric padding counts each side', () => {
  const args = { out: 4, k: [2, 3], p: [1, 0, 2, 3] } as const
  assert.equal(shapeOf('conv2d', args, [2, 3, 4, 5]), E.right([2, 4, 4, 8]))
  assert.equal(toWindow(args), { kernel: [2, 3], stride: [1, 1], dilation: [1, 1], padding: { top: 1, bottom: 0, left: 2, right: 3 } })
})

shapes('a transposed convolution adds no border that no window reaches', () => {
  assert.equal(shapeOf('convTranspose2d', { out: 1, k: 3, d: 4, p: 3, outputPadding: 3 }, [1, 1, 7, 7]), E.right([1, 1, 12, 12]))
  assert.equal(
    shapeOf('convTranspose2d', { out: 1, k: 3, d: 4, p: 2, outputPadding: 3 }, [1, 1, 7, 7]),
    E.left('convTranspose2d: the output padding 3x3 adds a border that no window reaches: keep it below stride and padding together, 3x3')
  )
})

shapes('a pool steps by its kernel, a convolution by one', () => {
  assert.equal(toWindow({ k: [2, 3] }).stride, [2, 3])
  assert.equal(toWindow({ out: 1, k: [2, 3] }).stride, [1, 1])
  assert.equal(toWindow({ k: 3, s: [1, 2], p: [0, 1], d: 2 }), {
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
  assert.equal(shapeOf('classLoss', { loss: 'focal' }, [2, 7]), E.right([]))
  assert.equal(shapeOf('pixelLoss', { loss: 'focal' }, [2, 3, 4, 5]), E.right([]))
  assert.equal(shapeOf('overlapLoss', { loss: 'dice' }, [2, 3, 4, 5]), E.right([]))
  assert.equal(shapeOf('valueLoss', { loss: 'huber' }, [2, 3]), E.right([]))
  assert.equal(
    shapeOf('pixelLoss', { loss: 'dice+focal' }, [2, 3, 4, 5]),
    E.left('pixelLoss: dice is not for it; overlapLoss takes it, of images')
  )
  assert.equal(
    shapeOf('overlapLoss', { loss: 'dice+tversky' }, [2, 3, 4, 5]),
    E.left('overlapLoss: takes one of dice and tversky; without them take pixelLoss')
  )
  assert.equal(shapeOf('pixelCrossEntropy', { ignore: 0, classWeights: [1, 0.5, 2] }, [2, 3, 4, 5]), E.right([]))
})

shapes("a transposed convolution has PyTorch's channels and groups", () => {
  assert.equal(shapeOf('convTranspose2d', { out: 6, k: 2, s: 2, groups: 2 }, [2, 4, 5, 7]), E.right([2, 6, 10, 14]))
  assert.equal(
    shapeOf('convTranspose2d', { out: 6, k: 2, groups: 4 }, [2, 4, 5, 7]),
    E.left('convTranspose2d: its 6 output channels do not divide into 4 groups')
  )
})

shapes('branches meet with the same sizes, those of a parallel but for the channels', () => {
  const shape = [2, 8, 5, 7]
  assert.equal(shapeRules.add({}, [shape, shape], []), E.right(shape))
  assert.equal(shapeRules.concat({}, [shape, [2, 1, 5, 7], shape], []), E.right([2, 17, 5, 7]))
  assert.equal(
    shapeRules.concat(
      {},
      [
        [2, 3],
        [2, 4]
      ],
      []
    ),
    E.right([2, 7])
  )
  assert.equal(shapeRules.add({}, [shape, [2, 1, 5, 7]], []), E.left('add: the branches differ, main 2x8x5x7 but shortcut 2x1x5x7'))
  assert.equal(shapeRules.concat({}, [shape, shape, [2, 8, 7, 5]], []), E.left('concat: the branches differ, 2x8x5x7 and 2x8x7x5'))
  assert.equal(shapeRules.concat({}, [shape], []), E.left('concat: joins at least two branches, not 1'))
})

shapes('to a block is to the height and width with which it starts', () =>
  assert.equal(shapeOf('resize', { mode: 'nearest', to: 'block' }, [2, 8, 5, 7], [2, 3, 40, 30]), E.right([2, 8, 40, 30]))
)

shapes('statistics need more than one value, a frozen batchNorm none', () => {
  const alone = [1, 512, 1, 1]
  assert.equal(
    shapeOf('batchNorm', {}, alone),
    E.left('batchNorm: one value per channel, 1x512x1x1, has no variance; give it more pixels or images, or freeze it')
  )
  assert.equal(shapeOf('batchNorm', { frozen: true }, alone), E.right(alone))
  assert.equal(shapeOf('batchNorm', {}, [2, 512, 1, 1]), E.right([2, 512, 1, 1]))
  assert.ok(E.isLeft(shapeOf('instanceNorm', {}, [2, 512, 1, 1])))
  assert.equal(shapeOf('batchNorm', {}, [2, 512]), E.right([2, 512]))
  assert.equal(shapeOf('batchNorm', { frozen: true }, [1, 512]), E.right([1, 512]))
  assert.equal(
    shapeOf('batchNorm', {}, [1, 512]),
    E.left('batchNorm: one value per channel, 1x512, has no variance; give it more pixels or images, or freeze it')
  )
  assert.ok(E.isLeft(shapeOf('groupNorm', { groups: 512 }, alone)))
  assert.equal(shapeOf('groupNorm', { groups: 512 }, [2, 512, 1, 1]), E.right([2, 512, 1, 1]))
  assert.equal(shapeOf('groupNorm', { groups: 32 }, alone), E.right(alone))
})

shapes('options that no compiler saw are refused', () => {
  const untyped = (args: object): OpArguments['conv2d'] => args as OpArguments['conv2d']
  const refused = (args: object) => E.swap(shapeOf('conv2d', untyped(args), [1, 1, 4, 4]))
  assert.equal(refused({ out: 1, k: 1, padding: 1 }), E.right('conv2d has no option padding; did you mean p?'))
  assert.equal(refused({ out: 1, kernel_size: 1 }), E.right('conv2d has no option kernel_size; did you mean k?'))
  assert.equal(refused({ out: 1, k: 1, ceilMode: true }), E.right('conv2d has no option ceilMode; it takes out, k, s, p, d, groups, bias'))
  assert.equal(refused({ out: 1 }), E.right('conv2d: k is missing'))
  assert.equal(refused({ out: undefined, k: 1 }), E.right('conv2d: out is missing'))
  for (const args of [
    { out: 1, k: '3' },
    { out: 1, k: [3] },
    { out: 1, k: 3, p: [1, 2, 3] },
    { out: NaN, k: 1 }
  ])
    assert.equal(refused(args), E.right('conv2d: sizes must be whole numbers above 0, and paddings at least 0'), JSON.stringify(args))
  assert.ok(E.isRight(shapeOf('conv2d', untyped({ out: 1, k: 1, s: undefined }), [1, 1, 4, 4])))
  const sentence = (op: Op, args: object) => shapeOf(op, args as OpArguments[Op], [1, 4, 4, 4])
  assert.equal(sentence('resize', { mode: 'cubic', scale: 2 }), E.left('resize: the mode must be bilinear or nearest'))
  assert.equal(sentence('resize', { mode: 'nearest', to: 'net' }), E.left('resize: to must be block, not net'))
  assert.equal(sentence('resize', { mode: 'nearest', scale: [0.1, 2] }), E.left('resize: the scale 0.1x2 leaves nothing of 4x4'))
  assert.equal(sentence('batchNorm', { eps: NaN }), E.left('batchNorm: eps must be above 0, not NaN'))
  assert.equal(sentence('batchNorm', { momentum: '0.1x' }), E.left('batchNorm: the momentum 0.1x is not in [0, 1]'))
  assert.equal(sentence('groupNorm', {}), E.left('groupNorm: groups is missing'))
  assert.equal(sentence('dropout', { p: 0.5 }), E.left('dropout has no option p; did you mean rate?'))
})

shapes.run()
