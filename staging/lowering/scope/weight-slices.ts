import { weightElements, type TransformedLayouts } from '../../kernels/layout'
import { arenaOperand, type UnplacedOperand } from '../ir/builder'
import type { ParameterTensor } from './parameter-tensor'
import { reorderFields } from './parameters'
import type { ModelScope } from './scope'

/** Channels of a slice: a multiple of what the cpu's kernels by Winograd take at once. */
const sliceChannels = 64

/** Channels of a convolution's result, or of the gradient of its input, that are made at once. */
export interface ChannelSlice {
  readonly first: number
  readonly channels: number
}

type Weights = Pick<ParameterTensor, 'shape' | 'transformed'>
type Direction = keyof TransformedLayouts

/** The slices of what is made of transformed weights. */
export const channelSlices = ({ shape }: Pick<Weights, 'shape'>, direction: Direction): readonly ChannelSlice[] => {
  const all = direction === 'forward' ? shape[0]! : shape[1]!
  return Array.from({ length: Math.ceil(all / sliceChannels) }, (_, index) => {
    const first = index * sliceChannels
    return { first, channels: Math.min(sliceChannels, all - first) }
  })
}

/** Whether what is made of transformed weights has more channels than a slice. */
export const hasSlices = (weight: Pick<Weights, 'shape'>, direction: Direction): boolean => channelSlices(weight, direction).length > 1

/** Elements of the transformed weights of the largest slice. */
export const sliceElements = (weight: Weights, direction: Direction): number => {
  const [{ channels }] = channelSlices(weight, direction) as readonly [ChannelSlice]
  const [out, inChannels] = weight.shape as readonly [number, number]
  return weightElements(weight.transformed![direction], direction === 'forward' ? [channels, inChannels, 3, 3] : [out, channels, 3, 3], 1)
}

/** Transforms weights of one group slice by slice, all into the same buffer. */
export const sliceTransformer = (
  { builder, parameterBytes }: Pick<ModelScope, 'builder' | 'parameterBytes'>,
  weight: ParameterTensor,
  direction: Direction
): ((slice: ChannelSlice) => UnplacedOperand) => {
  const layout = weight.transformed![direction]
  const bytes = sliceElements(weight, direction) * parameterBytes
  const destination = arenaOperand(builder.buffer({ kind: 'reordered-weights', parameter: weight.name, layout }, bytes))
  const { outChannels, inChannels, ...fields } = reorderFields(weight, weight.layout, layout)
  const source = { sourceOutChannels: outChannels, sourceInChannels: inChannels }
  return ({ first, channels }) => {
    const slice =
      direction === 'forward'
        ? { outChannels: channels, inChannels, ...source, firstOut: first, firstIn: 0 }
        : { outChannels, inChannels: channels, ...source, firstOut: 0, firstIn: first }
    builder.launch<'sliceWeights'>({ kind: 'sliceWeights', ...fields, ...slice }, { source: arenaOperand(weight.buffer), destination })
    return destination
  }
}
