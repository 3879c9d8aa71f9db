/**
 * What each layer is told: the options of every op, mark and container, one row each. As in the literature: k is the kernel,
 * s the stride, p the padding and d the dilation of a window, in elements.
 */

/** One number for both directions, or [height, width]. */
export type Pair = number | readonly [number, number]
/** One number for every side, [height, width], or [top, bottom, left, right]. */
export type Padding = Pair | readonly [number, number, number, number]

export interface Conv2dArguments {
  /** Output channels: PyTorch's out_channels. */
  readonly out: number
  /** Kernel size in pixels, one number or [height, width]: PyTorch's kernel_size. */
  readonly k: Pair
  /** Stride in pixels, one number or [height, width]; 1 by default. */
  readonly s?: Pair
  /** Zeros around the image, in pixels: one number, [height, width] or [top, bottom, left, right]; 0 by default. PyTorch's padding. */
  readonly p?: Padding
  /** Dilation: pixels from one tap of the kernel to the next, one number or [height, width]; 1 by default. */
  readonly d?: Pair
  /** Groups of channels that are convolved by themselves; 1 by default, as many as input channels for a depthwise convolution. */
  readonly groups?: number
  /** Whether each output channel has a bias; true by default. */
  readonly bias?: boolean
}

export interface MaxPool2dArguments {
  /** Window size in pixels, one number or [height, width]: PyTorch's kernel_size. */
  readonly k: Pair
  /** Stride in pixels, one number or [height, width]; the window's size by default, as in PyTorch. */
  readonly s?: Pair
  /** Pixels of minus infinity around the image: one number, [height, width] or [top, bottom, left, right]; 0 by default, at most half of the window. */
  readonly p?: Padding
  /** Dilation: pixels from one tap of the window to the next, one number or [height, width]; 1 by default. */
  readonly d?: Pair
  /** Whether a last window that is only partly over the image counts; false by default. PyTorch's ceil_mode. */
  readonly ceilMode?: boolean
}

export interface AvgPool2dArguments {
  /** Window size in pixels, one number or [height, width]: PyTorch's kernel_size. */
  readonly k: Pair
  /** Stride in pixels, one number or [height, width]; the window's size by default, as in PyTorch. */
  readonly s?: Pair
  /** Zeros around the image, in pixels: one number, [height, width] or [top, bottom, left, right]; 0 by default, at most half of the window. */
  readonly p?: Padding
  /** Whether a last window that is only partly over the image counts; false by default. PyTorch's ceil_mode. */
  readonly ceilMode?: boolean
  /** Whether the mean is over padding too; true by default. PyTorch's count_include_pad. */
  readonly countIncludePad?: boolean
}

export interface LinearArguments {
  /** Output features: PyTorch's out_features. */
  readonly out: number
  /** Features expected, checked when given; those that come by default. PyTorch's in_features. */
  readonly in?: number
  /** Whether each output feature has a bias; true by default. */
  readonly bias?: boolean
}

/** Of [B, C, H, W]: weights [C, out / groups, kh, kw] as in PyTorch. */
export interface ConvTranspose2dArguments {
  /** Output channels: PyTorch's out_channels. */
  readonly out: number
  /** Kernel size in pixels, one number or [height, width]: PyTorch's kernel_size. */
  readonly k: Pair
  /** Stride in pixels of the output, one number or [height, width]; 1 by default. */
  readonly s?: Pair
  /** Rows and columns taken away on every side of the output, one number or [height, width]; 0 by default. PyTorch's padding. */
  readonly p?: Pair
  /** Rows and columns added at the bottom and right, one number or [height, width]; 0 by default. PyTorch's output_padding. */
  readonly outputPadding?: Pair
  /** Dilation: pixels from one tap of the kernel to the next, one number or [height, width]; 1 by default. */
  readonly d?: Pair
  /** Groups of channels that are convolved by themselves; 1 by default. */
  readonly groups?: number
  /** Whether each output channel has a bias; true by default. */
  readonly bias?: boolean
}

export interface LeakyReluArguments {
  /** Slope below 0; 0.01 by default. PyTorch's negative_slope. */
  readonly slope?: number
}

export interface DropoutArguments {
  /** Probability with which an element is zeroed, from 0 to below 1: PyTorch's p. */
  readonly rate: number
}

export interface BatchNormArguments {
  /** Added to the variance; 1e-5 by default. */
  readonly eps?: number
  /** Weight of the step's statistics in the running ones, from 0 to 1; 0.1 by default. */
  readonly momentum?: number
  /** Whether it has weight and bias; true by default. */
  readonly affine?: boolean
  /** Whether it normalises with its running statistics in training too, and leaves them as they are; false by default. */
  readonly frozen?: boolean
}

export interface GroupNormArguments {
  /** Groups of channels with statistics of their own: PyTorch's num_groups. */
  readonly groups: number
  /** Added to the variance; 1e-5 by default. */
  readonly eps?: number
  /** Whether it has weight and bias; true by default. */
  readonly affine?: boolean
}

export interface InstanceNormArguments {
  /** Added to the variance; 1e-5 by default. */
  readonly eps?: number
  /** Whether it has weight and bias; false by default, as in PyTorch. */
  readonly affine?: boolean
}

/**
 * To one of `size`, `scale` and `to`. Pixels are mapped by the two sizes alone, as by torch.nn.functional.interpolate with
 * recompute_scale_factor, but exactly: of nearest, PyTorch rounds the ratio of the sizes.
 */
export interface ResizeArguments {
  /** How pixels between pixels come about. */
  readonly mode: 'bilinear' | 'nearest'
  /** In pixels, one number or [height, width]. */
  readonly size?: Pair
  /** Times the input's height and width, rounded down: one number or [height, width]. PyTorch's scale_factor. */
  readonly scale?: Pair
  /** The height and width with which the innermost block, or the net, starts. */
  readonly to?: 'block'
  /** Whether corner pixels lie on corner pixels; bilinear only, false by default. PyTorch's align_corners. */
  readonly alignCorners?: boolean
}

export interface AdaptiveAvgPool2dArguments {
  /** Output size in pixels, one number or [height, width]: PyTorch's output_size. */
  readonly out: Pair
}

export interface PixelCrossEntropyArguments {
  /** The label of pixels that do not count; 255 by default. PyTorch's ignore_index. */
  readonly ignore?: number
  /** A factor for each class, at least one above 0; 1 by default. PyTorch's weight. */
  readonly classWeights?: readonly number[]
}

export interface CheckpointArguments {
  /** Bytes (float32) that the segment may write at most; no limit by default. */
  readonly budget?: number
}

export interface TileArguments {
  /** Tiles along the batch: how many, not how large; 1 by default. */
  readonly B?: number
  /** Nothing tiles along the channels: what asks for it is refused by name. */
  readonly C?: number
  /** Tiles along the height: how many, not how large; 1 by default. */
  readonly H?: number
  /** Tiles along the width: how many, not how large; 1 by default. */
  readonly W?: number
}

/** No options. */
export interface None {}

/** Layers that compute. Defaults are PyTorch's: stride 1 (pools: the kernel), no padding, dilation 1, groups 1, bias true. */
export interface OpArguments {
  readonly conv2d: Conv2dArguments
  readonly relu: None
  /** y = x > 0 ? x : slope x; slope 0.01 by default. */
  readonly leakyRelu: LeakyReluArguments
  readonly maxPool2d: MaxPool2dArguments
  /** Divides by the kernel's size; where countIncludePad is false, by what of it lies in the image. */
  readonly avgPool2d: AvgPool2dArguments
  readonly globalAvgPool: None
  readonly flatten: None
  readonly linear: LinearArguments
  /** Zeroes each element with probability `rate`, and scales the others by 1 / (1 - rate). */
  readonly dropout: DropoutArguments
  readonly convTranspose2d: ConvTranspose2dArguments
  /** Of images over the batch and all pixels, of features [B, C] over the batch; running statistics for evaluation. */
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
  readonly adaptiveAvgPool2d: AdaptiveAvgPool2dArguments
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
  /** Ends a segment. */
  readonly checkpoint: CheckpointArguments
  /** Tile counts wanted for the segment that it stands in; nothing tiles along C, and asking for it is refused by name. */
  readonly tile: TileArguments
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
