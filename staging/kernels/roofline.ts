import type { Kernel } from './kernels'
import { paddingFlops } from './padding-flops'
import type { ElementSizes } from './precision'
import { workOf, type Products } from './work'

/**
 * Rates of a device: floating-point operations and bytes a second, and the fixed cost of a launch
 * in seconds.
 */
export interface Rates {
  readonly flopsPerSecond: number
  readonly bytesPerSecond: number
  readonly launchSeconds: number
  /** A GPU's multiprocessors; absent where products are as fast at any size. */
  readonly multiprocessors?: number
  /** Whether convolutions leave out products that read padding. */
  readonly skipsPadding?: boolean
}

/** Rows and columns that a multiprocessor makes at a time; shares of a product's depth at most. */
const blockSide = 128
const mostShares = 8

/**
 * Floating-point operations in whose time a product of so many is done: while the last blocks of
 * it are made, multiprocessors without one wait (wave quantisation).
 */
const occupiedFlops = (flops: number, { rows, columns, count, isDepthShared }: Products, multiprocessors: number): number => {
  const blocks = count * Math.ceil(rows / blockSide) * Math.ceil(columns / blockSide)
  const shares = isDepthShared ? Math.min(mostShares, Math.max(1, Math.floor(multiprocessors / blocks))) : 1
  const blockFlops = (flops * Math.min(1, blockSide / rows) * Math.min(1, blockSide / columns)) / (count * shares)
  return Math.max(flops, Math.ceil((blocks * shares) / multiprocessors) * multiprocessors * blockFlops)
}

/**
 * Milliseconds of one launch: the slower of arithmetic and memory traffic, plus the launch itself
 * (the roofline model).
 */
export const roofline = (kernel: Kernel, { activationBytes, parameterBytes }: ElementSizes, rates: Rates): number => {
  const { flops: all, products, elements, parameters = 0 } = workOf(kernel)
  const { multiprocessors, skipsPadding = false } = rates
  const flops = skipsPadding ? all - paddingFlops(kernel) : all
  const occupied = products === undefined || multiprocessors === undefined ? flops : occupiedFlops(flops, products, multiprocessors)
  const bytes = elements * activationBytes + parameters * parameterBytes
  const seconds = Math.max(occupied / rates.flopsPerSecond, bytes / rates.bytesPerSecond)
  return 1000 * (seconds + rates.launchSeconds)
}
