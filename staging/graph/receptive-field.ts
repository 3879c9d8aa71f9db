import type { AxisAccess } from './axis-access'
import { axisIndex, type Graph, type Node } from './graph'
import { type Interval, unionInterval } from './interval'

/**
 * What the outputs of a network read along one side of the image: a window that begins at a
 * multiple of `stride` makes, `before` behind its beginning and `after` before its end, what the
 * whole image makes there. All in pixels of the input; `before` and `after` are multiples of
 * `stride`.
 */
export interface ReceptiveField {
  readonly stride: number
  readonly before: number
  readonly after: number
}

/** Pixels of a tensor for each of the input. */
interface Rate {
  readonly of: number
  readonly per: number
}

const greatestDivisor = (a: number, b: number): number => (b === 0 ? a : greatestDivisor(b, a % b))
const leastMultiple = (a: number, b: number): number => (a / greatestDivisor(a, b)) * b

const times = ({ of, per }: Rate, by: Rate): Rate => {
  const [numerator, denominator] = [of * by.of, per * by.per]
  const divisor = greatestDivisor(numerator, denominator)
  return { of: numerator / divisor, per: denominator / divisor }
}

/** One op along a side: how it scales, and what a range of outputs reads, wherever it lies. */
interface Reading {
  readonly rate: Rate
  readonly read: (output: Interval) => Interval
}

/** Undefined where outputs depend on their place in the whole tensor, or on all of it. */
const computeReading = (access: AxisAccess): Reading | undefined => {
  switch (access.kind) {
    case 'same':
      return { rate: { of: 1, per: 1 }, read: (output) => output }
    case 'pad':
      return { rate: { of: 1, per: 1 }, read: ({ from, to }) => ({ from: from - access.before, to: to - access.before }) }
    case 'window': {
      const { kernel, stride, dilation, padBefore } = access
      return {
        rate: { of: 1, per: stride },
        read: ({ from, to }) => ({ from: from * stride - padBefore, to: (to - 1) * stride - padBefore + dilation * (kernel - 1) + 1 })
      }
    }
    case 'transposedWindow': {
      const { apart, kernel, stride, dilation, padBefore } = access
      if (apart) return undefined
      return {
        rate: { of: stride, per: 1 },
        read: ({ from, to }) => ({
          from: Math.ceil((from + padBefore - dilation * (kernel - 1)) / stride),
          to: Math.floor((to - 1 + padBefore) / stride) + 1
        })
      }
    }
    case 'resize': {
      const { inExtent, outExtent, bilinear, alignCorners } = access
      const isWhole = outExtent % inExtent === 0 || inExtent % outExtent === 0
      if (!isWhole || (bilinear && alignCorners)) return undefined
      const place = (output: number): number =>
        bilinear ? Math.floor(((2 * output + 1) * inExtent - outExtent) / (2 * outExtent)) : Math.floor((output * inExtent) / outExtent)
      return {
        rate: times({ of: outExtent, per: 1 }, { of: 1, per: inExtent }),
        read: ({ from, to }) => ({ from: place(from), to: place(to - 1) + (bilinear ? 2 : 1) })
      }
    }
    case 'adaptive':
    case 'whole':
    case 'reduce':
      return undefined
  }
}

/**
 * What the input of the last node, its loss, reads of the network's input along a side; undefined
 * where that is all of it, or depends on where it is: global pooling, a normalisation by each
 * image's own statistics, resizing by other than whole factors. Batch normalisation must be by
 * running statistics.
 */
export const receptiveField = ({ nodes }: Pick<Graph, 'nodes'>, axis: 'H' | 'W'): ReceptiveField | undefined => {
  const body: readonly Node[] = nodes.slice(0, -1)
  if (body.some(({ statistics, broadcast }) => statistics?.fromInput === true || broadcast)) return undefined
  const rates: Rate[] = [{ of: 1, per: 1 }]
  const readings: Reading[] = []
  for (const { access, inputs } of body) {
    const reading = computeReading(access[axis])
    if (reading === undefined) return undefined
    readings.push(reading)
    rates.push(times(rates[inputs[0]!]!, reading.rate))
  }
  const [last, out] = [nodes.at(-1)!.inputs[0]!, nodes.at(-1)!.input[axisIndex[axis]]]
  const stride = rates.reduce((multiple, { per }) => leastMultiple(multiple, per), 1)
  const { of, per } = rates[last]!
  if (of !== per || out === 0) return undefined
  const needed: (Interval | undefined)[] = []
  needed[last] = { from: 0, to: stride }
  for (let position = body.length - 1; position >= 0; position -= 1) {
    const wanted = needed[position + 1]
    if (wanted === undefined) continue
    const read = readings[position]!.read(wanted)
    for (const input of body[position]!.inputs) needed[input] = needed[input] === undefined ? read : unionInterval(needed[input], read)
  }
  const { from, to } = needed[0] ?? { from: 0, to: stride }
  const whole = (pixels: number): number => Math.max(0, Math.ceil(pixels / stride) * stride)
  return { stride, before: whole(-from), after: whole(to - stride) }
}
