import {
  avgPool2d,
  batchNorm,
  conv2d,
  dropout,
  globalAvgPool,
  linear,
  maxPool2d,
  named,
  parallel,
  relu,
  seq,
  type Padding,
  type Pair
} from '../dsl'
import { withOptionCheck, fcHead, withHead, type Head, type WithHead, type HeadOptions, type Network } from './heads'

/** The layers of torchvision's BasicConv2d after its convolution. */
const normAndRelu = [named('bn', batchNorm({ eps: 0.001 })), named('relu', relu)] as const

const conv1x1 = <const N extends string, const O extends number>(name: N, out: O) =>
  seq(name, [named('conv', conv2d({ out, k: 1, bias: false })), ...normAndRelu])
const convPadded = <const N extends string, const O extends number, const K extends Pair, const P extends Padding>(
  name: N,
  out: O,
  k: K,
  p: P
) => seq(name, [named('conv', conv2d({ out, k, p, bias: false })), ...normAndRelu])
const convStride2 = <const N extends string, const O extends number>(name: N, out: O) =>
  seq(name, [named('conv', conv2d({ out, k: 3, s: 2, bias: false })), ...normAndRelu])

const mean = named('pool', avgPool2d({ k: 3, s: 1, p: 1 }))
const pool = maxPool2d({ k: 3, s: 2 })

/** 35x35 for images of 299x299. */
const blockA = <const N extends string, const O extends number>(name: N, pooled: O) =>
  seq(name, [
    parallel([
      [conv1x1('branch1x1', 64)],
      [conv1x1('branch5x5_1', 48), convPadded('branch5x5_2', 64, 5, 2)],
      [conv1x1('branch3x3dbl_1', 64), convPadded('branch3x3dbl_2', 96, 3, 1), convPadded('branch3x3dbl_3', 96, 3, 1)],
      [mean, conv1x1('branch_pool', pooled)]
    ])
  ])

const blockB = seq('Mixed_6a', [
  parallel([
    [convStride2('branch3x3', 384)],
    [conv1x1('branch3x3dbl_1', 64), convPadded('branch3x3dbl_2', 96, 3, 1), convStride2('branch3x3dbl_3', 96)],
    [named('pool', pool)]
  ])
])

/** 17x17; 7x7 as 1x7 and 7x1. */
const blockC = <const N extends string, const W extends number>(name: N, width: W) =>
  seq(name, [
    parallel([
      [conv1x1('branch1x1', 192)],
      [conv1x1('branch7x7_1', width), convPadded('branch7x7_2', width, [1, 7], [0, 3]), convPadded('branch7x7_3', 192, [7, 1], [3, 0])],
      [
        conv1x1('branch7x7dbl_1', width),
        convPadded('branch7x7dbl_2', width, [7, 1], [3, 0]),
        convPadded('branch7x7dbl_3', width, [1, 7], [0, 3]),
        convPadded('branch7x7dbl_4', width, [7, 1], [3, 0]),
        convPadded('branch7x7dbl_5', 192, [1, 7], [0, 3])
      ],
      [mean, conv1x1('branch_pool', 192)]
    ])
  ])

const blockD = seq('Mixed_7a', [
  parallel([
    [conv1x1('branch3x3_1', 192), convStride2('branch3x3_2', 320)],
    [
      conv1x1('branch7x7x3_1', 192),
      convPadded('branch7x7x3_2', 192, [1, 7], [0, 3]),
      convPadded('branch7x7x3_3', 192, [7, 1], [3, 0]),
      convStride2('branch7x7x3_4', 192)
    ],
    [named('pool', pool)]
  ])
])

/** 8x8. */
const blockE = <const N extends string>(name: N) =>
  seq(name, [
    parallel([
      [conv1x1('branch1x1', 320)],
      [
        conv1x1('branch3x3_1', 384),
        parallel([[convPadded('branch3x3_2a', 384, [1, 3], [0, 1])], [convPadded('branch3x3_2b', 384, [3, 1], [1, 0])]])
      ],
      [
        conv1x1('branch3x3dbl_1', 448),
        convPadded('branch3x3dbl_2', 384, 3, 1),
        parallel([[convPadded('branch3x3dbl_3a', 384, [1, 3], [0, 1])], [convPadded('branch3x3dbl_3b', 384, [3, 1], [1, 0])]])
      ],
      [mean, conv1x1('branch_pool', 192)]
    ])
  ])

const features = [
  convStride2('Conv2d_1a_3x3', 32),
  convPadded('Conv2d_2a_3x3', 32, 3, 0),
  convPadded('Conv2d_2b_3x3', 64, 3, 1),
  named('maxpool1', pool),
  conv1x1('Conv2d_3b_1x1', 80),
  convPadded('Conv2d_4a_3x3', 192, 3, 0),
  named('maxpool2', pool),
  blockA('Mixed_5b', 32),
  blockA('Mixed_5c', 64),
  blockA('Mixed_5d', 64),
  blockB,
  blockC('Mixed_6b', 128),
  blockC('Mixed_6c', 160),
  blockC('Mixed_6d', 160),
  blockC('Mixed_6e', 192),
  blockD,
  blockE('Mixed_7b'),
  blockE('Mixed_7c')
] as const

const classicHead = <const C extends number>(classes: C) =>
  [named('avgpool', globalAvgPool), named('dropout', dropout({ rate: 0.5 })), named('fc', linear({ out: classes }))] as const

type GapHead<C extends number> = ReturnType<typeof fcHead<C>>
type ClassicHead<C extends number> = ReturnType<typeof classicHead<C>>

/**
 * Inception v3 (Szegedy et al., "Rethinking the Inception architecture for computer vision", 2015),
 * layers named as in torchvision with aux_logits=False: the auxiliary head, which only training
 * uses, is left out. Images of 75x75 at least.
 */
export const inception_v3 = withOptionCheck(
  'inception_v3',
  <const C extends number, const H extends Head = 'gap'>({
    classes,
    head = 'gap' as H
  }: HeadOptions<C, H>): Network<'inception_v3', WithHead<typeof features, GapHead<C>, ClassicHead<C>, H>> => ({
    name: 'inception_v3',
    layers: withHead(features, head, fcHead(classes), classicHead(classes))
  })
)
