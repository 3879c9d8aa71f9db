import type { DeviceModel } from './device-model'
import { elementSizes, type Precision } from '../kernels/precision'
import { roofline } from '../kernels/roofline'

/**
 * The reference device: plain layouts, no scratch, one int32 a pooled element for the indices;
 * plain loops on one core.
 */
export const referenceModel = (precision: Precision): DeviceModel => ({
  name: 'reference',
  precision,
  threads: 1,
  activationLayout: () => 'plain',
  weightLayouts: () => ({ stored: 'plain', forward: 'plain', backwardData: 'plain' }),
  winograd: () => false,
  normaliseOnLoad: () => true,
  scratchBytes: () => 0,
  indicesBytes: (kernel) =>
    kernel.kind === 'maxPoolForward' ? 4 * kernel.batch * kernel.inChannels * kernel.outHeight * kernel.outWidth : 0,
  milliseconds: (kernel) => roofline(kernel, elementSizes(precision), { flopsPerSecond: 2e9, bytesPerSecond: 5e9, launchSeconds: 1e-6 }),
  linkBytesPerSecond: { toDevice: 5e9, toHost: 5e9 }
})
