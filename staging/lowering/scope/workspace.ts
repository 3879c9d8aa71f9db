import type { ConvolutionKernel, Kernel } from '../../kernels/kernels'
import { arenaOperand, noOperand, type UnplacedOperand } from '../ir/builder'
import type { ModelScope, SegmentScope } from './scope'

/**
 * Bytes that a kernel that the device refuses counts as: more than any budget, so that plans with
 * it do not fit, and others tile.
 */
export const refusedBytes = 2 ** 46

/** The largest budget, and workspace, where there is no limit. */
export const unlimitedBytes = refusedBytes - 1

/**
 * The algorithm of a convolution, given with algorithm 0: the first of the device's within the
 * workspace that it does not refuse, as it may one that is listed for all kernels of about this
 * size; else 0.
 */
export const algorithmWithin = ({ device, workspace }: Pick<SegmentScope, 'device' | 'workspace'>, kernel: ConvolutionKernel): number =>
  workspace === undefined
    ? 0
    : (device
        .algorithms?.(kernel)
        .find(({ algorithm, scratchBytes }) => scratchBytes <= workspace && device.scratchBytes({ ...kernel, algorithm }) !== undefined)
        ?.algorithm ?? 0)

/** A fresh scratch operand for a kernel, or none where the device needs none. */
export const scratchFor = ({ device, builder }: Pick<ModelScope, 'device' | 'builder'>, kernel: Kernel): UnplacedOperand => {
  const bytes = device.scratchBytes(kernel) ?? refusedBytes
  return bytes === 0 ? noOperand : arenaOperand(builder.buffer({ kind: 'scratch', kernel: kernel.kind }, bytes))
}
