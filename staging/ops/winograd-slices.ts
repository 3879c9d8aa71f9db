import { activationElements, type TransformedLayouts } from '../kernels/layout'
import type { ConvolutionKernel } from '../kernels/kernels'
import { offsetBy, zeroStrides, type UnplacedOperand } from '../lowering/ir/builder'
import type { TileTensor } from '../lowering/ir/tile-tensor'
import type { ParameterTensor } from '../lowering/scope/parameter-tensor'
import type { ModelScope } from '../lowering/scope/scope'
import { channelSlices, sliceTransformer, type ChannelSlice } from '../lowering/scope/weight-slices'
import { scratchFor } from '../lowering/scope/workspace'
import { memoizeByNumber } from '../memoize'

/** A convolution by Winograd of one image, or the gradient of its input, and what it is made of. */
interface Sliced<K> {
  readonly weight: ParameterTensor
  readonly direction: keyof TransformedLayouts
  readonly operand: TileTensor
  readonly result: TileTensor
  readonly kernelOf: (channels: number) => K
}

/** The operands of a slice's launch, of one image. */
interface SliceOperands {
  readonly operand: UnplacedOperand
  readonly weights: UnplacedOperand
  readonly result: UnplacedOperand
  readonly scratch: UnplacedOperand
}

/**
 * Launches a convolution by Winograd, or the gradient of its input, for one slice of the result's
 * channels after the other: of one image a slice lies together, so for each image by itself.
 */
export const launchInSlices = <K extends ConvolutionKernel>(
  scope: Pick<ModelScope, 'builder' | 'device' | 'parameterBytes' | 'activationBytes'>,
  { weight, direction, operand, result, kernelOf }: Sliced<K>,
  launch: (kernel: K, operands: SliceOperands, slice: ChannelSlice) => void
): void => {
  const bytesOf = ({ layout, extents: [, all, ...pixels] }: TileTensor, channels = all!): number =>
    activationElements(layout, [1, channels, ...pixels]) * scope.activationBytes
  const at = ({ address }: TileTensor, bytes: number): UnplacedOperand => offsetBy(address, bytes, zeroStrides)
  const transform = sliceTransformer(scope, weight, direction)
  const kernels = memoizeByNumber((channels: number) => {
    const kernel = kernelOf(channels)
    return { kernel, scratch: scratchFor(scope, kernel) }
  })
  for (const slice of channelSlices(weight, direction)) {
    const weights = transform(slice)
    const { kernel, scratch } = kernels(slice.channels)
    for (let image = 0; image < result.extents[0]!; image++) {
      const made = at(result, image * bytesOf(result) + bytesOf(result, slice.first))
      launch(kernel, { operand: at(operand, image * bytesOf(operand)), weights, result: made, scratch }, slice)
    }
  }
}
