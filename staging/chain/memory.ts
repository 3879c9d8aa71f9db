import { activationBytes, gradientBytes, type Chain } from './chain'

/** Bytes on the device that each operation of a chain needs. */
interface OperationBytes {
  /** Bytes of operation i alone: its inputs, its output, its workspace. */
  readonly own: readonly number[]
  /** Bytes of operation i with all activations before it: m_F_i, or m_B_i, of section 3.2. */
  readonly withAll: readonly number[]
}

/** m_F_i = ex_F_i + sum of |x_j| over j <= i + 1. */
export const forwardBytes = (chain: Chain): OperationBytes => {
  const x = activationBytes(chain)
  return operationBytes(
    x,
    chain.stages.map(({ ex_F }) => ex_F)
  )
}

/** m_B_i = ex_B_i + |y_i| + |y_(i+1)| + sum of |x_j| over j <= i + 1. */
export const backwardBytes = (chain: Chain): OperationBytes => {
  const [x, y] = [activationBytes(chain), gradientBytes(chain)]
  return operationBytes(
    x,
    chain.stages.map(({ ex_B }, i) => ex_B + y[i]! + y[i + 1]!)
  )
}

const operationBytes = (x: readonly number[], beside: readonly number[]): OperationBytes => {
  let before = 0
  const withAll = beside.map((bytes, i) => {
    const all = before + x[i]! + x[i + 1]! + bytes
    before += x[i]!
    return all
  })
  return { own: beside.map((bytes, i) => x[i]! + x[i + 1]! + bytes), withAll }
}

const largest = (values: readonly number[]): number => values.reduce((most, value) => Math.max(most, value), 0)

/** M_peak of section 3.2: what a step needs where nothing is offloaded. */
export const peakBytes = (chain: Chain): number => largest([...forwardBytes(chain).withAll, ...backwardBytes(chain).withAll])

/**
 * Returns the bytes that the largest operation needs by itself: with less, no schedule exists; with
 * this much, offloading everything is one.
 */
export const leastBytes = (chain: Chain): number => largest([...forwardBytes(chain).own, ...backwardBytes(chain).own])

/**
 * Sum of all u_F and u_B, in milliseconds, added up as schedules do, so that one without waits
 * takes just as long.
 */
export const computeMilliseconds = ({ stages }: Chain): number =>
  stages.reduce((sum, { u_F }) => sum + u_F, 0) + stages.reduce((sum, { u_B }) => sum + u_B, 0)

/**
 * Proposition 3: no schedule takes fewer milliseconds than all computation, nor than M_peak - M
 * bytes take to go and come back.
 */
export const lowerBound = (chain: Chain, memory: number): number =>
  Math.max(computeMilliseconds(chain), (2000 * (peakBytes(chain) - memory)) / chain.beta)
