import type { movementKernels } from '../../kernels/families/movement'
import type { KernelOf } from '../../kernels/kernels'
import { activationElements, fillWholeBlocks, layouts } from '../../kernels/layout'
import { origin, contiguous, activation, tile, strided, type ByteRegion, type RegionRows } from './region'

type CopyChannels = Omit<KernelOf<'copyChannels'>, 'kind'>
/**
 * Tells whether copied channels fill all blocks that they lie in, so that no other channel's bytes
 * are touched.
 */
export const copiesWholeBlocks = ({ destinationLayout, destinationChannels, destinationFirst, count }: CopyChannels): boolean => {
  const layout = layouts[destinationLayout]
  return layout !== undefined && fillWholeBlocks(layout, destinationChannels, destinationFirst, count)
}
/**
 * Returns the region of copied channels; of channels that share blocks with others, no less than
 * the whole tile.
 */
const copiedChannels = (k: CopyChannels, elementBytes: number): ByteRegion => {
  const { batch, height, width, count, destinationChannels, destinationFirst, destinationLayout } = k
  const whole = activation(destinationLayout, [batch, destinationChannels, height, width], elementBytes)
  const layout = layouts[destinationLayout]
  if (layout === undefined || !copiesWholeBlocks(k)) return whole
  if (layout === 'nhwc')
    return {
      kind: 'bytes',
      start: destinationFirst * elementBytes,
      repeats: [{ count: batch * height * width, stride: destinationChannels * elementBytes }],
      run: count * elementBytes
    }
  const bytesOf = (channels: number) => activationElements(layout, [1, channels, height, width]) * elementBytes
  return {
    kind: 'bytes',
    start: bytesOf(destinationFirst),
    repeats: [{ count: batch, stride: bytesOf(destinationChannels) }],
    run: bytesOf(count)
  }
}

/** What operands of the kernels of staging/kernels/families/movement.ts touch. */
export const movementRegions: RegionRows<keyof typeof movementKernels> = {
  reorderActivation: ({ batch, channels, height, width, sourceLayout, destinationLayout }, e) => ({
    source: activation(sourceLayout, [batch, channels, height, width], e),
    destination: activation(destinationLayout, [batch, channels, height, width], e)
  }),
  copyChannels: (k, e) => ({
    source: activation(k.sourceLayout, [k.batch, k.sourceChannels, k.height, k.width], e),
    destination: copiedChannels(k, e)
  }),
  pixelShuffle: (k, e) => {
    const fine = (layout: number) => activation(layout, [k.batch, k.channels, k.height, k.width], e)
    const coarse = (layout: number) => activation(layout, [k.batch, k.channels * k.factor ** 2, k.coarseHeight, k.coarseWidth], e)
    const [source, destination] = k.inverse === 1 ? [fine, coarse] : [coarse, fine]
    return { source: source(k.sourceLayout), destination: destination(k.destinationLayout) }
  },
  channelShuffle: (k, e) => ({ source: tile(k, e), destination: tile(k, e) }),
  shiftChannels: ({ batch, channels, height, width, sourceChannels, sourceLayout, destinationLayout }, e) => ({
    source: activation(sourceLayout, [batch, sourceChannels, height, width], e),
    destination: activation(destinationLayout, [batch, channels, height, width], e)
  }),
  copyBox: (k, activationBytes, parameterBytes) => {
    const e = k.ofParameters === 1 ? parameterBytes : activationBytes
    const box = (strides: readonly [number, number, number]): ByteRegion => ({
      kind: 'bytes',
      repeats: [k.n0, k.n1, k.n2].flatMap((count, axis) => (strides[axis] === 0 ? [] : [{ count, stride: strides[axis]! * e }])),
      run: k.n3 * e
    })
    return {
      source: box([k.sourceStride0, k.sourceStride1, k.sourceStride2]),
      destination: box([k.destinationStride0, k.destinationStride1, k.destinationStride2])
    }
  },
  packTile: (k, e, p) => ({ source: strided(k, p), destination: tile(k, e) }),
  unpackAddTile: (k, e, p) => ({ source: tile(k, e), destination: strided(k, p) }),
  zero: ({ bytes }) => ({ destination: contiguous(bytes) }),
  loadImage: (k, e) => ({ destination: tile(k, e), ...origin(k) })
}
