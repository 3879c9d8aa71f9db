/**
 * What each layer is told: the options of every op, mark and container, one row each. As in the literature: k is the kernel,
 * s the stride, p the padding and d the dilation of a window, in elements.
 */

/** One number for both directions, or [height, width]. */
export type Pair = number | readonly [number, number]
/** One number for every side, [height, width], or [top, bottom, left, right]. */
export type Padding = Pair | readonly [number, number, number, number]

export interface Conv2dArguments {
  readonly out: number
  readonly k: Pair
  readonly s?: Pair
  readonly p?: Padding
  readonly d?: Pair
  readonly groups?: number
  readonly bias?: boolean
}

export interface MaxPool2dArguments {
  readonly k: Pair
  readonly s?: Pair
  readonly p?: Padding
  readonly d?: Pair
  readonly ceilMode?: boolean
}

export interface AvgPool2dArguments {
  readonly k: Pair
  readonly s?: Pair
  readonly p?: Padding
  readonly ceilMode?: boolean
  readonly countIncludePad?: boolean
}

export interface LinearArguments {
  readonly out: number
  /** Features expected, checked when given. */
  readonly in?: number
  readonly bias?: boolean
}

/** No options. */
export interface None {}

/** Layers that compute. Defaults are PyTorch's: stride 1 (pools: the kernel), no padding, dilation 1, groups 1, bias true. */
export interface OpArguments {
  readonly conv2d: Conv2dArguments
  readonly relu: None
  /** y = x > 0 ? x : slope x; slope 0.01 by default. */
  readonly leakyRelu: { readonly slope?: number }
  readonly maxPool2d: MaxPool2dArguments
  /** Divides by the kernel's size; where countIncludePad is false, by what of it lies in the image. */
  readonly avgPool2d: AvgPool2dArguments
  readonly globalAvgPool: None
  readonly flatten: None
  readonly linear: LinearArguments
  /** Zeroes each element with probability `rate`, and scales the others by 1 / (1 - rate). */
  readonly dropout: { readonly rate: number }
  readonly softmaxCrossEntropy: None
  readonly meanSquaredError: None
}

/** Marks say how to run what stands around them, and compute nothing. */
export interface MarkArguments {
  /** Ends a segment; `budget`: bytes that the segment may hold. */
  readonly checkpoint: { readonly budget?: number }
  /** Tile counts wanted for the segment that it stands in; nothing tiles along C, and asking for it is refused by name. */
  readonly tile: { readonly B?: number; readonly C?: number; readonly H?: number; readonly W?: number }
}

/** Containers name and group layers. */
export interface ContainerArguments {
  readonly seq: { readonly name?: string; readonly layers: Layers }
  readonly named: { readonly name: string; readonly layer: AnyLayer }
}

export interface Arguments extends OpArguments, MarkArguments, ContainerArguments {}

/** What layer P is told. */
export type ArgsOf<P extends keyof Arguments> = Arguments[P]
export type Op = keyof OpArguments
export type Mark = keyof MarkArguments

/** Any layer as data: what staging walks. */
export interface AnyLayer {
  readonly op: keyof Arguments
  readonly args: Arguments[keyof Arguments]
}

export type Layers = readonly AnyLayer[]
