import { dropout, flatten, globalAvgPool, linear, named, relu, seq, type Layers, type Model, type Shape } from '../dsl'

/**
 * The end of a classifier: `gap`, global average pooling and one linear layer; or `classic`, the
 * layers of the original network.
 */
export type Head = 'gap' | 'classic'

/** A network for images of any size. */
export type Network<N extends string, L extends Layers> = Model<N, Shape, unknown, L>

/** Models that score every pixel have one end only, and take `head` without looking at it. */
export interface HeadOptions<C extends number = number, H extends Head = Head> {
  readonly classes: C
  /** gap where absent. */
  readonly head?: H
}

const formatValue = (value: unknown): string => (typeof value === 'string' ? JSON.stringify(value) : String(value))
const isWhole = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) > 0

/**
 * Returns one sentence on what is wrong with options that no compiler saw; undefined where nothing
 * is.
 */
const validateOptions = (options: unknown): string | undefined => {
  if (typeof options !== 'object' || options === null) return 'give its options, such as { classes: 2 }'
  const { classes, head, ...others } = options as { readonly classes?: unknown; readonly head?: unknown }
  const [unknown] = Object.keys(others)
  if (unknown !== undefined) return `there is no option ${unknown}, only classes and head`
  if (!isWhole(classes)) return `classes is ${formatValue(classes)}, not a whole number above 0`
  return head === undefined || head === 'gap' || head === 'classic' ? undefined : `head is ${formatValue(head)}, not gap or classic`
}

/**
 * A model by its options. JavaScript that gives others is itself wrong, and gets an error that says
 * how.
 */
export const withOptionCheck = <F extends (options: never) => unknown>(name: string, make: F): F =>
  ((options: Parameters<F>[0]) => {
    const found = validateOptions(options)
    if (found !== undefined) throw new TypeError(`${name}: ${found}`)
    return make(options)
  }) as F

/** Global average pooling and one linear layer: fits any input size. */
export const gapHead = <const C extends number>(classes: C) =>
  [named('avgpool', globalAvgPool), named('classifier', linear({ out: classes }))] as const

/**
 * Global average pooling and one linear layer named `fc`, as in torchvision's ResNet and Inception:
 * fits any input size.
 */
export const fcHead = <const C extends number>(classes: C) =>
  [named('avgpool', globalAvgPool), named('fc', linear({ out: classes }))] as const

/**
 * The three linear layers of VGG, for features of 512x7x7 (images of 224x224, where torchvision's
 * adaptive pooling changes nothing).
 */
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
export type WithHead<F extends Layers, Gap extends Layers, Classic extends Layers, H extends Head> = readonly [
  ...F,
  ...{ gap: Gap; classic: Classic }[H]
]

/** Returns the features, then one of two heads: by global average pooling, or the original one. */
export const withHead = <const F extends Layers, Gap extends Layers, Classic extends Layers, H extends Head>(
  features: F,
  head: H,
  gap: Gap,
  classic: Classic
): WithHead<F, Gap, Classic, H> => [...features, ...{ gap, classic }[head]]
