import type { ConvolutionKernel, Kernel } from '../../kernels/kernels'
import { arenaOperand, noOperand, type UnplacedOperand } from '../ir/builder'
import type { ModelScope, SegmentScope } from './scope'

/** Bytes of the largest budget, and of the largest workspace, where there is no limit. */
export const unlimitedBytes = 2 ** 46 - 1

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

/**
 * A fresh scratch operand for a kernel, or none where the device needs none. Where it refuses the
 * kernel, whatever the memory, the buffer says so and has no bytes: `findRefused` finds it.
 */
export const scratchFor = ({ device, builder }: Pick<ModelScope, 'device' | 'builder'>, kernel: Kernel): UnplacedOperand => {
  const bytes = device.scratchBytes(kernel)
  if (bytes === 0) return noOperand
  const kind = bytes === undefined ? 'refused-scratch' : 'scratch'
  return arenaOperand(builder.buffer({ kind, kernel: kernel.kind }, bytes ?? 0))
}
