import { conv2d, dropout, flatten, linear, maxPool2d, named, relu, seq } from '../dsl'
import { withOptionCheck, gapHead, withHead, type Head, type WithHead, type HeadOptions, type Network } from './heads'

const pool = maxPool2d({ k: 3, s: 2 })

const features = seq('features', [
  conv2d({ out: 64, k: 11, s: 4, p: 2 }),
  relu,
  pool,
  conv2d({ out: 192, k: 5, p: 2 }),
  relu,
  pool,
  conv2d({ out: 384, k: 3, p: 1 }),
  relu,
  conv2d({ out: 256, k: 3, p: 1 }),
  relu,
  conv2d({ out: 256, k: 3, p: 1 }),
  relu,
  pool
])

/**
 * For features of 256x6x6 (images of 224x224, where torchvision's adaptive pooling changes
 * nothing).
 */
const classicHead = <const C extends number>(classes: C) =>
  [
    named('flatten', flatten),
    seq('classifier', [
      dropout({ rate: 0.5 }),
      linear({ in: 9216, out: 4096 }),
      relu,
      dropout({ rate: 0.5 }),
      linear({ out: 4096 }),
      relu,
      linear({ out: classes })
    ])
  ] as const

type GapHead<C extends number> = ReturnType<typeof gapHead<C>>
type ClassicHead<C extends number> = ReturnType<typeof classicHead<C>>

/**
 * AlexNet as in "One weird trick for parallelizing convolutional neural networks" (Krizhevsky,
 * 2014), layers named as in torchvision.
 */
export const alexnet = withOptionCheck(
  'alexnet',
  <const C extends number, const H extends Head = 'gap'>({
    classes,
    head = 'gap' as H
  }: HeadOptions<C, H>): Network<'alexnet', WithHead<readonly [typeof features], GapHead<C>, ClassicHead<C>, H>> => ({
    name: 'alexnet',
    layers: withHead([features], head, gapHead(classes), classicHead(classes))
  })
)
