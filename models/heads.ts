import { dropout, flatten, globalAvgPool, linear, named, relu, seq, type Layers } from '../dsl'

/** How features become scores: global average pooling and one linear layer, or the layers of the original network. */
export type Head = 'gap' | 'classic'

/** Models that score every pixel have one end only, and take `head` without looking at it. */
export interface HeadOptions<C extends number = number, H extends Head = Head> {
  readonly classes: C
  /** gap where absent. */
  readonly head?: H
}

/** Global average pooling and one linear layer: fits any input size. */
export const gapHead = <const C extends number>(classes: C) =>
  [named('avgpool', globalAvgPool), named('classifier', linear({ out: classes }))] as const

/** The same with the linear layer named as in torchvision's ResNet and Inception. */
export const fcHead = <const C extends number>(classes: C) =>
  [named('avgpool', globalAvgPool), named('fc', linear({ out: classes }))] as const

/** The three linear layers of VGG, for features of 512x7x7 (images of 224x224, where torchvision's adaptive pooling changes nothing). */
export const classicVggHead = <const C extends number>(classes: C) =>
  [
    named('flatten', flatten),
    seq('classifier', [
      linear({ in: 25088, out: 4096 }),
      relu,
      dropout({ rate: 0.5 }),
      linear({ out: 4096 }),
      relu,
      dropout({ rate: 0.5 }),
      linear({ out: classes })
    ])
  ] as const

/** The features F, and one of the two heads. */
export type Headed<F extends Layers, Gap extends Layers, Classic extends Layers, H extends Head> = readonly [
  ...F,
  ...{ gap: Gap; classic: Classic }[H]
]

export const headed = <const F extends Layers, Gap extends Layers, Classic extends Layers, H extends Head>(
  features: F,
  head: H,
  gap: Gap,
  classic: Classic
): Headed<F, Gap, Classic, H> => [...features, ...{ gap, classic }[head]]
