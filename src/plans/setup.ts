import type { Model, PlanFile } from '../../dsl'
import type { DeviceName } from '../../native'
import type { DeviceFile, DevicePrecision, NetworkRates, PlanPlacement, StrategyName } from '../../staging'
import type { Size } from '../options/sizes'

/** A setup that was resolved: what is trained, where, and within how much memory. */
export interface Setup {
  readonly model: Model
  /** [B, C, H, W]; the model's own where absent. */
  readonly input?: readonly number[]
  /** A device of this machine, or one that a file describes, which can be planned for. */
  readonly device: DeviceName | DeviceFile
  /** Precision, one of `listPrecisions` of the device; the first of them where absent. */
  readonly precision?: DevicePrecision
  /** `auto` where absent. */
  readonly strategy?: StrategyName
  /**
   * Decisions to take in place of a strategy's; the plan's input and budget count where none are
   * given here.
   */
  readonly plan?: PlanFile
  /** The path of the plan's file, for messages. */
  readonly planPath?: string
  /** A sentence on the plan's file, for people. */
  readonly planNotice?: string
  /** A sentence for people on options that are for built-in models, beside another model. */
  readonly modelNotice?: string
  /** Unlimited where absent. */
  readonly budget?: Size
  /**
   * Size of the host pool, through which tensors are swapped; `auto` swaps only where it is given.
   * Unlimited where absent.
   */
  readonly hostBudget?: Size
  /**
   * Limit in bytes per second of either direction between the device and the host pool; as fast as
   * memory where absent.
   */
  readonly hostBandwidth?: number
  /**
   * The network between ranks, where there are some; what was measured here, or 10 Gb/s and 20 µs,
   * where absent.
   */
  readonly network?: NetworkRates
  /** All of the machine's where absent. */
  readonly threads?: number
  /**
   * No kernels that round differently than the others: no convolution runs by Winograd or Fourier
   * transforms, or normalises on load.
   */
  readonly exactKernels?: true
  /**
   * Which kernels of the plan that this machine's profile lacks are measured before it is made; of
   * a sample those that tell the others' times. None where absent.
   */
  readonly measure?: 'all' | 'sample'
  /** Placement of the buffers, where no plan says it; `static` where absent. */
  readonly placement?: PlanPlacement
}

/** A setup whose device is here. */
export interface RunnableSetup extends Setup {
  readonly device: DeviceName
}
