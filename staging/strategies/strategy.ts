import type { Graph } from '../graph/graph'
import type { StepGraph } from '../graph/step-graph'
import type { DeviceModel } from '../devices/device-model'
import type { SegmentEstimate } from '../lowering/cost/estimate'
import type { KernelKind } from '../kernels/kernels'
import type { Order } from '../graph/order'
import type { Timeline } from '../lowering/cost/timeline'
import type { Plan, Segment } from '../plans/plan'
import type { Span } from '../graph/span'
import type { StrategyName } from '../../dsl'

/** How the convolutions of a segment are computed. */
export interface Variant extends Pick<Segment, 'winograd' | 'slicedWinograd' | 'normaliseOnLoad' | 'workspace'> {
  /**
   * In place of `winograd` in tiles, which have weights transformed beforehand: of the others those
   * take too much, or by them nothing is gained.
   */
  readonly winogradInTiles?: readonly number[]
  /**
   * In place of `normaliseOnLoad` where forward runs again: what is normalised on load need not be
   * normalised once more for backward.
   */
  readonly onLoadAgain?: readonly number[]
  /** The position of the normalisation of each convolution on load. */
  readonly normalisations?: ReadonlyMap<number, number>
}

/**
 * How the convolutions of a span may be computed, the fastest first: without tiles, none takes less
 * time than the one before it.
 */
export type Variants = (span: Span) => readonly Variant[]

/** What is kept from forward to backward, at least. */
export interface KeptBytes {
  readonly bytes: number
  readonly tensors: number
  /**
   * Rematerialized segments that may do less, or nothing, when they run again: not all of their
   * outputs are read by the backward of others.
   */
  readonly idle: ReadonlySet<Segment>
}

/** The questions that a strategy may ask while it decides. */
export interface Search {
  readonly order: Order
  /** The graph in that order. */
  readonly graph: StepGraph
  readonly device: DeviceModel
  /** Bytes of parameters and optimizer state. */
  readonly persistentBytes: number
  /** `onHost`: tensors that are on the host. */
  readonly estimate: (segment: Segment, onHost?: ReadonlySet<number>) => SegmentEstimate | undefined
  readonly variants: Variants
  /** The last of the variants, for which none need be timed. */
  readonly lastVariant: (span: Span) => Variant
  readonly timeline: (segments: Segmentation) => Timeline
  /** What is kept from forward to backward, at least; `onHost`: as of `estimate`. */
  readonly keptBytes: (segments: Segmentation, onHost: ReadonlySet<number>) => KeptBytes
}

/** A network cut into segments, in the order in which they run. */
export type Segmentation = readonly Segment[]

/** A plan that may be worth a look, with what it takes at least. */
export interface PlanEstimate {
  readonly plan: () => Plan
  readonly deviceBytes: number
  readonly hostBytes: number
  /** Nanoseconds of a step, of one micro-batch where gradients are accumulated. */
  readonly nanoseconds: () => number
  /** No more than that, by what is moved alone. */
  readonly leastNanoseconds: number
  /** A kernel that the device refuses, so that the plan cannot run; undefined if none is. */
  readonly refusedKernel: KernelKind | undefined
}

/** A segmentation with what waits on the host by each of some schedules. */
export interface ScheduledSegmentation {
  /** No more than `leastNanoseconds`, by its segments alone: no timeline is made for that. */
  readonly aboutNanoseconds: (deviceBytes: number) => number
  /** None that does with so many bytes on the device takes less; no schedule is made for that. */
  readonly leastNanoseconds: (deviceBytes: number) => number
  readonly estimates: () => readonly PlanEstimate[]
}

/** Segmentations that are found together. */
export interface PlanGroup {
  /** Bytes of the device that they are made for; undefined where they are for any. */
  readonly target: number | undefined
  /**
   * All of them that may be worth a look with so many bytes on the device, the more the more bytes
   * there are; beyond `slowest` nanoseconds, of one micro-batch, perhaps none.
   */
  readonly scheduled: (slowest: number, deviceBytes: number) => readonly ScheduledSegmentation[]
}

/** Segmentations that a strategy finds for numbers of bytes. */
export interface SegmentationSearch {
  /**
   * The segmentations of least time that it believes to fit `target` bytes, the one to prefer
   * first; all take the same time, and never more than for a smaller target. None where it finds
   * none; then there is none for a smaller target either. Beyond `slowest` nanoseconds, of one
   * micro-batch, perhaps none. With `own`, each segment by itself, without what is kept for others,
   * fits so many bytes too.
   */
  readonly within: (target: number, slowest?: number, own?: number) => readonly Segmentation[]
  /**
   * One that keeps the fewest bytes of those that it believes to fit, however slow it is; undefined
   * where it finds none. That costs a fraction of looking for the fastest.
   */
  readonly leastKept: (target: number) => Segmentation | undefined
}

/** Whether what a strategy moves has the link to the host for itself. */
export type Link = 'alone' | 'beside state'

/**
 * A strategy only makes plans, for the model in the order that it wants; staging lowers them and
 * takes the fastest that fits.
 */
export type Strategy = {
  readonly order: (graph: Graph) => Order
  /** Whether `checkpoint` and `tile` in the model decide, where they stand. */
  readonly obeysDirectives: boolean
  /** Another strategy, which decides among all that this one does and more. */
  readonly partOf?: StrategyName
} & (
  | {
      /** Every segmentation that there is, whatever the budget. */
      readonly kind: 'fixed'
      readonly all: (search: Search) => readonly Segmentation[]
    }
  | {
      /** Plans with what waits on the host: all that may be worth a look, whatever the budget. */
      readonly kind: 'swapping'
      /** Whether tensors may be made in tiles: then even the largest need not be there whole. */
      readonly tiles?: true
      readonly groups: (search: Search, link: Link) => readonly PlanGroup[]
    }
  | {
      readonly kind: 'targeted'
      readonly within: (search: Search) => SegmentationSearch
    }
)
