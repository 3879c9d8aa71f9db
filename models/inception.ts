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
  type Model,
  type Padding,
  type Pair
} from '../dsl'
import { gapHead, headed, type Head, type Headed, type HeadOptions } from './heads'

/** torchvision's BasicConv2d: without bias, normalised, rectified. */
const convolution = <
  const N extends string,
  const O extends number,
  const K extends Pair,
  const P extends Padding = 0,
  const S extends number = 1
>(
  name: N,
  out: O,
  k: K,
  p: P = 0 as P,
  s: S = 1 as S
) => seq(name, [named('conv', conv2d({ out, k, s, p, bias: false })), named('bn', batchNorm({ eps: 0.001 })), named('relu', relu)])

const mean = named('pool', avgPool2d({ k: 3, s: 1, p: 1 }))
const halving = maxPool2d({ k: 3, s: 2 })

/** 35x35 for images of 299x299. */
const blockA = <const N extends string, const O extends number>(name: N, pooled: O) =>
  seq(name, [
    parallel([
      [convolution('branch1x1', 64, 1)],
      [convolution('branch5x5_1', 48, 1), convolution('branch5x5_2', 64, 5, 2)],
      [convolution('branch3x3dbl_1', 64, 1), convolution('branch3x3dbl_2', 96, 3, 1), convolution('branch3x3dbl_3', 96, 3, 1)],
      [mean, convolution('branch_pool', pooled, 1)]
    ])
  ])

const blockB = seq('Mixed_6a', [
  parallel([
    [convolution('branch3x3', 384, 3, 0, 2)],
    [convolution('branch3x3dbl_1', 64, 1), convolution('branch3x3dbl_2', 96, 3, 1), convolution('branch3x3dbl_3', 96, 3, 0, 2)],
    [named('pool', halving)]
  ])
])

/** 17x17; 7x7 as 1x7 and 7x1. */
const blockC = <const N extends string, const W extends number>(name: N, width: W) =>
  seq(name, [
    parallel([
      [convolution('branch1x1', 192, 1)],
      [
        convolution('branch7x7_1', width, 1),
        convolution('branch7x7_2', width, [1, 7], [0, 3]),
        convolution('branch7x7_3', 192, [7, 1], [3, 0])
      ],
      [
        convolution('branch7x7dbl_1', width, 1),
        convolution('branch7x7dbl_2', width, [7, 1], [3, 0]),
        convolution('branch7x7dbl_3', width, [1, 7], [0, 3]),
        convolution('branch7x7dbl_4', width, [7, 1], [3, 0]),
        convolution('branch7x7dbl_5', 192, [1, 7], [0, 3])
      ],
      [mean, convolution('branch_pool', 192, 1)]
    ])
  ])

const blockD = seq('Mixed_7a', [
  parallel([
    [convolution('branch3x3_1', 192, 1), convolution('branch3x3_2', 320, 3, 0, 2)],
    [
      convolution('branch7x7x3_1', 192, 1),
      convolution('branch7x7x3_2', 192, [1, 7], [0, 3]),
      convolution('branch7x7x3_3', 192, [7, 1], [3, 0]),
      convolution('branch7x7x3_4', 192, 3, 0, 2)
    ],
    [named('pool', halving)]
  ])
])

/** 8x8. */
const blockE = <const N extends string>(name: N) =>
  seq(name, [
    parallel([
      [convolution('branch1x1', 320, 1)],
      [
        convolution('branch3x3_1', 384, 1),
        parallel([[convolution('branch3x3_2a', 384, [1, 3], [0, 1])], [convolution('branch3x3_2b', 384, [3, 1], [1, 0])]])
      ],
      [
        convolution('branch3x3dbl_1', 448, 1),
        convolution('branch3x3dbl_2', 384, 3, 1),
        parallel([[convolution('branch3x3dbl_3a', 384, [1, 3], [0, 1])], [convolution('branch3x3dbl_3b', 384, [3, 1], [1, 0])]])
      ],
      [mean, convolution('branch_pool', 192, 1)]
    ])
  ])

const features = [
  convolution('Conv2d_1a_3x3', 32, 3, 0, 2),
  convolution('Conv2d_2a_3x3', 32, 3),
  convolution('Conv2d_2b_3x3', 64, 3, 1),
  named('maxpool1', halving),
  convolution('Conv2d_3b_1x1', 80, 1),
  convolution('Conv2d_4a_3x3', 192, 3),
  named('maxpool2', halving),
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

type GapHead<C extends number> = ReturnType<typeof gapHead<C>>
type ClassicHead<C extends number> = ReturnType<typeof classicHead<C>>

/**
 * Inception v3 (Szegedy et al., "Rethinking the Inception architecture for computer vision", 2015), layers named as in torchvision with
 * aux_logits=False: the auxiliary head, which only training uses, is left out. Images of 75x75 at least.
 */
export const inception_v3 = <const C extends number, const H extends Head = 'gap'>({
  classes,
  head = 'gap' as H
}: HeadOptions<C, H>): Model<Headed<typeof features, GapHead<C>, ClassicHead<C>, H>> => ({
  name: 'inception_v3',
  layers: headed(features, head, gapHead(classes), classicHead(classes))
})
