import type { Shape } from '../shapes/shape'
import type { Plan, PlanSegment } from './plan'

/** A segment as a plan file has it. */
export interface PlanFileSegment extends PlanSegment {
  /** Name of the segment's last layer: its output is what is kept. */
  readonly checkpoint: string
}

/** What is predicted of a plan; nothing here decides anything. */
export interface PlanFigures {
  /** Bytes of what waits on the host, at most at once. */
  readonly peakHostBytes?: number
  /** Bytes of device memory that strategy plain needs: the yardstick for fractions of memory. */
  readonly plainPeakBytes?: number
  /** Milliseconds of a step: of one micro-batch, where gradients are accumulated. */
  readonly stepMilliseconds?: number
  /**
   * Milliseconds that a step takes at least, in any plan: its kernels run once each, whole, in the
   * better order, but for what tiles may leave out since nothing reads it.
   */
  readonly lowerBoundMilliseconds?: number
  /**
   * What tiles compute twice where they overlap: tiled over untiled multiply-adds of the forward
   * pass, minus one; below 0 where tiles leave out more that nothing reads.
   */
  readonly haloOverhead?: number
}

/**
 * The strategies that make plans, as on the command line; `auto` is the fastest plan of all of
 * them.
 */
export const strategyNames = [
  'auto',
  'plain',
  'chen',
  'chen-sqrt',
  'sft',
  'sft-offload',
  'vdnn',
  'vdnn-conv',
  'lms',
  'lms-hybrid',
  'dymem',
  'window',
  'greedy',
  'dynprog'
] as const
/** The name of a strategy, such as `sft`. */
export type StrategyName = (typeof strategyNames)[number]
/** The maker of a plan: a strategy, or a person. */
export const planStrategies = [...strategyNames, 'by hand'] as const
/** What made a plan: a strategy, or a person. */
export type PlanStrategy = (typeof planStrategies)[number]
/** The precisions that a plan may be of. */
export const planPrecisions = ['float32', 'tf32', 'bf16', 'float64'] as const

/**
 * A plan as a person reads, edits and commits it: what it was made for, what it decides, what is
 * predicted of it.
 */
export interface PlanFile extends Plan {
  readonly model: string
  /** [B, C, H, W] */
  readonly input: Shape
  /**
   * One text a layer (see layerText), in the model's order, directives left out; the loss that
   * training appends is the last. Positions in `order` are places in this list.
   */
  readonly layers: readonly string[]
  readonly strategy: PlanStrategy
  readonly device: { readonly name: string; readonly precision: string; readonly threads: number }
  /** What a step does, in words: it changes bytes. */
  readonly objective: string
  /**
   * Hash of names, ops, arguments and shapes; the layers and the input that a person can read say
   * the same but the names.
   */
  readonly graph: string
  /** Bytes of device memory; null for no limit. */
  readonly budget: number | null
  /** Bytes: the highest one that a step touches on the device, plus one. */
  readonly peak: number
  readonly segments: readonly PlanFileSegment[]
  readonly predicted: PlanFigures
}
