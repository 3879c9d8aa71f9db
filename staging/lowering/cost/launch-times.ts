import { nanoseconds } from '../../devices/simulate'
import type { DeviceModel } from '../../devices/device-model'
import type { Kernel } from '../../kernels/kernels'
import type { Builder, UnplacedOperand } from '../ir/builder'
import { createCostBuilder } from './cost-builder'

/** Nanoseconds of some launches, apart by what a segment's decisions change. */
export interface Times {
  /** Nanoseconds of launches that are the same however the weights are read. */
  other: number
  /** Nanoseconds of loading images, which may go beside computing. */
  loads: number
  /** Nanoseconds of the convolutions that may run by Winograd, by their place in the segment. */
  readonly convolutions: number[]
  /** Nanoseconds of copies of weights in another layout or type, by the place of the layer. */
  readonly weights: number[]
}

/** The launches of one tile, of which a pass over the segment runs `count`. */
export interface TileTimes {
  readonly count: number
  readonly times: Times
}

/** No time, of a segment with so many places. */
export const noTimes = (places: number): Times => ({
  ...{ other: 0, loads: 0 },
  convolutions: new Array<number>(places).fill(0),
  weights: new Array<number>(places).fill(0)
})

/** Adds the times of `count` equal tiles to a sum. */
export const addTimes = (sums: Times, { count, times }: TileTimes): void => {
  sums.other += count * times.other
  sums.loads += count * times.loads
  for (let place = 0; place < sums.weights.length; place++) {
    sums.convolutions[place]! += count * times.convolutions[place]!
    sums.weights[place]! += count * times.weights[place]!
  }
}

/** What one op of a tile launches, as `Times` has it; its convolution and weights are its own. */
export interface OpTimes {
  readonly other: number
  readonly loads: number
  readonly convolution: number
  readonly weights: number
}

/** Adds the times of the op at a place to a sum. */
export const addOpTimes = (sums: Times, place: number, { other, loads, convolution, weights }: OpTimes): void => {
  sums.other += other
  sums.loads += loads
  sums.convolutions[place]! += convolution
  sums.weights[place]! += weights
}

/** The operand that tells whose weights a kernel reads, or makes the gradient of. */
const weightsOperand: { readonly [K in Kernel['kind']]?: string } = {
  convolutionForward: 'weights',
  convolutionBackwardData: 'weights',
  convolutionBackwardWeights: 'weightGradient',
  reorderWeights: 'source',
  sliceWeights: 'source',
  castWeights: 'source'
}

/** Kernels that make copies of weights. */
const copiesWeights: ReadonlySet<Kernel['kind']> = new Set(['reorderWeights', 'sliceWeights', 'castWeights'])

const getParameterName = (operand: UnplacedOperand | undefined): string | undefined =>
  operand?.space === 'arena' && 'parameter' in operand.buffer.identity ? operand.buffer.identity.parameter : undefined

/** Emits nothing; adds what launches take to times that are changed as it goes. */
export const createTimesBuilder = (
  device: DeviceModel,
  places: ReadonlyMap<string, number>,
  transformable: ReadonlySet<number>
): { readonly builder: Builder; readonly into: (times: Times) => void } => {
  let current = noTimes(0)
  const launch = (kernel: { readonly kind: Kernel['kind'] }, operands: Readonly<Record<string, UnplacedOperand>>): void => {
    const time = nanoseconds(device, kernel as Kernel)
    const name = weightsOperand[kernel.kind]
    const owner = name === undefined ? undefined : getParameterName(operands[name])
    const place = owner === undefined ? undefined : places.get(owner)
    if (kernel.kind === 'loadImage') current.loads += time
    else if (place === undefined) current.other += time
    else if (copiesWeights.has(kernel.kind)) current.weights[place]! += time
    else if (transformable.has(place)) current.convolutions[place]! += time
    else current.other += time
  }
  const builder = createCostBuilder(device)
  return {
    builder: { ...builder, launch, load: launch, loop: (_, __, body) => body(), pairs: (_, __, body) => body(0) },
    into: (times) => {
      current = times
    }
  }
}
