import { referenceModel, type DeviceModel, type Objective } from '../../staging'

/** Backward reads weights in a layout of its own, and some convolutions have Winograd too. */
export const winogradDevice = (precision: 'float32' | 'bf16'): DeviceModel => ({
  ...referenceModel('float32'),
  precision,
  weightLayouts: () => ({ stored: 'plain', forward: 'plain', backwardData: 'ohwi' }),
  winograd: ({ kernel, stride, groups }) => kernel[0] * kernel[1] === 9 && stride[0] * stride[1] === 1 && groups === 1,
  winogradOfStored: ({ kind, inChannels, outChannels }) => (kind === 'convolutionForward' ? outChannels : inChannels) % 2 === 1
})

/** With and without state of the optimizer, accumulation and frozen layers; and no update. */
export const objectives: readonly Objective[] = [
  { kind: 'train', optimizer: { kind: 'sgd', momentum: 0.9, weightDecay: 0 } },
  { kind: 'train', optimizer: { kind: 'sgd', momentum: 0, weightDecay: 0 }, accumulate: 2, groups: [{ prefix: '0', frozen: true }] },
  { kind: 'gradients' }
]
