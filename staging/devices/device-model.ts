import type { ConvolutionKernel, Kernel } from '../kernels/kernels'
import type { Layout } from '../kernels/layout'
import type { NetworkRates } from './network'
import type { Precision } from '../kernels/precision'

/** The part of a convolution on which its weight layouts may depend. */
export interface ConvolutionDimensions {
  readonly inChannels: number
  readonly outChannels: number
  readonly groups: number
  readonly kernel: readonly [number, number]
  readonly stride: readonly [number, number]
  readonly dilation: readonly [number, number]
  /** Padding of the whole input, in pixels; a tile has less. */
  readonly padding: { readonly top: number; readonly bottom: number; readonly left: number; readonly right: number }
  /** The network's input is read as it is loaded, all else in the device's activation layout. */
  readonly sourceLayout: Layout
}

/** How the weights of a convolution are stored, and what its kernels read. */
export interface WeightLayouts {
  readonly stored: Layout
  readonly forward: Layout
  readonly backwardData: Layout
}

/**
 * A way to compute a convolution, and about the bytes of its scratch operand: just them, of a
 * device that answers at once; Infinity where it refuses.
 */
export interface ConvolutionAlgorithm {
  /** Field `algorithm` of the kernel. */
  readonly algorithm: number
  readonly scratchBytes: number
}

/**
 * All that staging knows of a device; `native/` implements it by asking the addon,
 * `staging/devices/reference-model.ts` by itself.
 */
export interface DeviceModel {
  readonly name: string
  readonly precision: Precision
  readonly threads: number
  /**
   * Layout of an activation [B, C, H, W], or of the network's input (`input` true). Other ranks are
   * plain.
   */
  readonly activationLayout: (channels: number, input: boolean) => Layout
  /**
   * `stored` is how weights and their gradients lie in memory; `forward` what the convolution
   * reads, `backwardData` what the gradient of its input does.
   */
  readonly weightLayouts: (convolution: ConvolutionDimensions) => WeightLayouts
  /**
   * Tells whether the device has this convolution by Winograd too (algorithm 1, which rounds
   * differently), forward and backward.
   */
  readonly winograd: (convolution: ConvolutionDimensions) => boolean
  /**
   * Tells whether the device has this kernel by Winograd with weights as they are stored, which it
   * transforms itself: so few tiles read them that no copy pays. If it has, it has it of less of
   * the image too. None where absent.
   */
  readonly winogradOfStored?: (kernel: ConvolutionKernel) => boolean
  /**
   * Tells whether the device has this convolution, of 1x1 kernels with a stride of 1, as one that
   * normalises what it reads (staging/kernels/families/normalised-convolution.ts).
   */
  readonly normaliseOnLoad: (convolution: ConvolutionDimensions) => boolean
  /**
   * Algorithms that compute this kernel (given with algorithm 0) from the same layouts, fastest
   * first by the device's own heuristics; 0 need not be among them. Absent where there is never a
   * choice.
   */
  readonly algorithms?: (kernel: ConvolutionKernel) => readonly ConvolutionAlgorithm[]
  /**
   * Returns the bytes of a kernel's scratch operand (0: absent); undefined for a kernel that the
   * device refuses, as cuDNN does tensors of 2^31 elements.
   */
  readonly scratchBytes: (kernel: Kernel) => number | undefined
  /** Returns the bytes of the operand `indices` of a maxPoolForward. */
  readonly indicesBytes: (kernel: Kernel) => number
  /** Predicted time of one launch. */
  readonly milliseconds: (kernel: Kernel) => number
  /**
   * Alignment in bytes at which kernels want tensors to begin; a tile that does not is copied.
   * Absent where any address will do.
   */
  readonly viewAlignment?: number
  readonly linkBytesPerSecond: LinkRates
  /** The network between ranks; where absent it counts as if it took no time. */
  readonly network?: NetworkRates
  /**
   * Bytes a second of copies by the threads that compute, when they do nothing else. However slow
   * the link, a copy takes so much from computing. Absent where copies leave computing alone.
   */
  readonly copyBytesPerSecond?: LinkRates
}

/** Bytes a second between host and device, each way. */
export interface LinkRates {
  readonly toDevice: number
  readonly toHost: number
}

/** Tells whether copies and computing beside each other take less time than one after the other. */
export const overlapsCopies = ({ linkBytesPerSecond: link, copyBytesPerSecond: copy }: DeviceModel): boolean =>
  copy === undefined || link.toDevice < copy.toDevice || link.toHost < copy.toHost
