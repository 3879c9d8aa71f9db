/** The report that a training makes of each of its steps. */
export interface StepReport {
  /** Number of the step, from 0. */
  readonly step: number
  readonly steps: number
  /** Times through the data so far: 1.5 in the middle of the second. */
  readonly epoch: number
  /** Mean loss of the step's images or pixels. */
  readonly loss: number
  readonly learningRate: number
  /** L2 norm of the gradients before clipping; where gradients are clipped. */
  readonly gradientNorm?: number
  /** Milliseconds of the step by itself, without reading its images. */
  readonly milliseconds: number
  /** Images of the step, and pixels that the network saw of them. */
  readonly images: number
  readonly pixels: number
  /** Highest changed byte of the arena after the first step, plus one. */
  readonly peakDeviceBytes: number
}
