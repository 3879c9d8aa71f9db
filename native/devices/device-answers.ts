import * as E from 'fp-ts/Either'
import * as t from 'io-ts'
import type { ConvolutionDimensions, DeviceModel, WeightLayouts } from '../../staging/devices/device-model'
import { encodeKernel, keyOfKernel, getKernelRow, type Kernel, type KernelOf } from '../../staging/kernels/kernels'
import { windowFields } from '../../staging/kernels/window-fields'
import { layoutCode, layouts, type Layout } from '../../staging/kernels/layout'
import { memoize } from '../../staging/memoize'
import type { NativeDevice } from '../addon/addon'
import { decodeAnswer, type DeviceError } from '../addon/error'

const layout = t.keyof(Object.fromEntries(layouts.map((name) => [name, null])) as Readonly<Record<Layout, null>>, 'layout')
/** Decodes the layout that a device answers with. */
export const layoutAnswer = decodeAnswer(layout)
/**
 * Decodes a device's layouts of the weights of a convolution: as they are stored, and as its
 * forward and the gradient of its input read them.
 */
export const weightLayoutsAnswer = decodeAnswer(
  t.readonly(t.type({ stored: layout, forward: layout, backwardData: layout }), 'weight layouts')
)

/** Decodes a number of bytes that a device answers with. */
export const bytesAnswer = decodeAnswer(t.number)

/** Decodes the algorithms of a convolution that a device answers with. */
export const algorithmsAnswer = decodeAnswer(
  t.readonlyArray(t.readonly(t.type({ algorithm: t.number, scratchBytes: t.number })), 'algorithms')
)

/** A device that cannot answer for a kernel of a valid graph is a bug, so it throws. */
export const unwrapAnswer = <A>(answer: E.Either<DeviceError, A>): A => {
  if (E.isLeft(answer)) throw new Error(answer.left.message)
  return answer.right
}

/** A kernel's fields as the addon takes them: numbers in the order of the table of kernels. */
export const encodeToFloats = (kernel: Kernel): Float64Array => Float64Array.from(encodeKernel(kernel))

/**
 * Outputs along each axis of the convolution that the device is asked about: layouts do not depend
 * on them. Strides go evenly into the input, as in most networks; a device may have kernels for
 * such inputs alone.
 */
const probeExtent = 32

/**
 * A convolution of a shape, over one tile with plain weights, by which a device is asked which
 * layouts it would choose.
 */
export const probeConvolution = (shape: ConvolutionDimensions, destination: Layout): KernelOf<'convolutionForward'> => {
  const inputExtent = (axis: 0 | 1): number => (shape.kernel[axis] - 1) * shape.dilation[axis] + probeExtent * shape.stride[axis]
  const unpadded = { padBefore: 0, padAfter: 0 }
  const tiles = {
    source: { extents: [1, shape.inChannels, inputExtent(0), inputExtent(1)] },
    destination: { extents: [1, shape.outChannels, probeExtent, probeExtent] },
    rows: unpadded,
    columns: unpadded
  }
  return {
    kind: 'convolutionForward',
    ...windowFields(shape, tiles),
    outChannels: shape.outChannels,
    groups: shape.groups,
    sourceLayout: layoutCode(shape.sourceLayout),
    destinationLayout: layoutCode(destination),
    weightLayout: layoutCode('plain'),
    algorithm: 0,
    slope: 1
  }
}

/**
 * Both kernels of a convolution of a shape that normalises what it reads, by which a device is
 * asked whether it has them.
 */
export const normalisedProbes = (
  { inChannels, outChannels, sourceLayout }: ConvolutionDimensions,
  { stored, forward }: Pick<WeightLayouts, 'stored' | 'forward'>
): readonly Kernel[] => {
  const tile = { batch: 1, channels: inChannels, height: probeExtent, width: probeExtent, layout: layoutCode(sourceLayout) }
  const fields = { ...tile, groups: inChannels, perImage: 0, epsilon: 1e-5, slope: 0, outChannels }
  return [
    { kind: 'normalisedConvolutionForward', ...fields, weightLayout: layoutCode(forward), outSlope: 1 },
    { kind: 'normalisedConvolutionBackwardWeights', ...fields, weightLayout: layoutCode(stored) }
  ]
}

/**
 * The layouts that a native device answers with, and the bytes of a max pool's indices; answers are
 * remembered.
 */
export const queryLayouts = (device: NativeDevice): Pick<DeviceModel, 'activationLayout' | 'weightLayouts' | 'indicesBytes'> => {
  const activationLayout = memoize(
    ([channels, input]: readonly [number, boolean]) => `${channels},${input}`,
    ([channels, input]) => unwrapAnswer(layoutAnswer(device.activationLayout({ channels, input })))
  )
  const probeKernel = (shape: ConvolutionDimensions): Kernel => probeConvolution(shape, activationLayout([shape.outChannels, false]))
  return {
    activationLayout: (channels, input) => activationLayout([channels, input]),
    weightLayouts: memoize(
      (shape) => keyOfKernel(probeKernel(shape)),
      (shape) => unwrapAnswer(weightLayoutsAnswer(device.weightLayouts(encodeToFloats(probeKernel(shape)))))
    ),
    indicesBytes: memoize(keyOfKernel, (kernel) =>
      'indices' in getKernelRow(kernel.kind).operands ? unwrapAnswer(bytesAnswer(device.indicesBytes(encodeToFloats(kernel)))) : 0
    )
  }
}
