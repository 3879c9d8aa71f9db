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

/** Of [B, C, H, W]: weights [C, out / groups, kh, kw] as in PyTorch; `outputPadding` adds rows and columns at the bottom and right. */
export interface ConvTranspose2dArguments {
  readonly out: number
  readonly k: Pair
  readonly s?: Pair
  readonly p?: Pair
  readonly outputPadding?: Pair
  readonly d?: Pair
  readonly groups?: number
  readonly bias?: boolean
}

export interface BatchNormArguments {
  /** Of the variance; 1e-5 by default. */
  readonly eps?: number
  /** Weight of the step's statistics in the running ones; 0.1 by default. */
  readonly momentum?: number
  /** Whether it has weight and bias; true by default. */
  readonly affine?: boolean
  /** Normalises with its running statistics in training too, and leaves them as they are. */
  readonly frozen?: boolean
}

export interface GroupNormArguments {
  readonly groups: number
  readonly eps?: number
  /** True by default. */
  readonly affine?: boolean
}

export interface InstanceNormArguments {
  readonly eps?: number
  /** False by default, as in PyTorch. */
  readonly affine?: boolean
}

/**
 * To one of: `size` in pixels; `scale` times the input's, rounded down; `to: 'block'`, the height and width with which the innermost block,
 * or the net, starts. Pixels are mapped by the two sizes alone, as by torch.nn.functional.interpolate with recompute_scale_factor.
 */
export interface ResizeArguments {
  readonly mode: 'bilinear' | 'nearest'
  readonly size?: Pair
  readonly scale?: Pair
  readonly to?: 'block'
  /** Bilinear only; false by default. */
  readonly alignCorners?: boolean
}

export interface PixelCrossEntropyArguments {
  /** The label of pixels that do not count; 255 by default. */
  readonly ignore?: number
  /** A factor for each class, at least one above 0. */
  readonly classWeights?: readonly number[]
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
  readonly convTranspose2d: ConvTranspose2dArguments
  /** Over the batch's images and all their pixels; running statistics for evaluation. */
  readonly batchNorm: BatchNormArguments
  readonly groupNorm: GroupNormArguments
  readonly instanceNorm: InstanceNormArguments
  readonly sigmoid: None
  readonly tanh: None
  readonly silu: None
  /** x times the normal distribution function, exactly (erf). */
  readonly gelu: None
  readonly resize: ResizeArguments
  /** Means over the windows that divide [H, W] into `out`, as in PyTorch. */
  readonly adaptiveAvgPool2d: { readonly out: Pair }
  /** Joins the two branches of a `residual`. */
  readonly add: None
  /** Joins the branches of a `parallel` along the channels. */
  readonly concat: None
  readonly softmaxCrossEntropy: None
  /** Of scores [B, N, H, W] and a class for each pixel; mean over the pixels that count, by their class's weight. */
  readonly pixelCrossEntropy: PixelCrossEntropyArguments
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
  /** main(x) + shortcut(x); an empty shortcut is x itself. */
  readonly residual: { readonly main: Layers; readonly shortcut: Layers }
  /** The results of all branches on x, one after the other along the channels; an empty branch is x itself. */
  readonly parallel: { readonly branches: readonly Layers[] }
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
