import type { KernelKind } from '../../kernels/kernels'
import { alignUp } from '../../placement/placement'
import { findRefused } from '../ir/buffer-identity'
import type { Buffer, Builder, UnplacedOperand } from '../ir/builder'

/** What one segment takes beside persistent tensors and the tensors at its ends. */
export interface SegmentBytes {
  readonly forwardBytes: number
  readonly backwardBytes: number
  /**
   * Bytes of backward with the gradients of tensors that only it reads or makes: of those that it
   * makes until it is done with them, of those that it reads from when it begins them.
   */
  readonly bytesWithGradients: number
  /**
   * By op, from the last one back: the most of `bytesWithGradients` until that op has run backward,
   * less running forward again and the gradients of what the segment reads; empty for tiles.
   */
  readonly bytesDownTo: readonly ReachedPlace[]
  /** Bytes that are kept from forward until backward. */
  readonly keptBytes: number
  /** A kernel that the device refuses, whose scratch is left out; undefined where it takes all. */
  readonly refusedKernel: KernelKind | undefined
}

/** What was the most when the op at a place was done. */
interface ReachedPlace {
  readonly place: number
  readonly bytes: number
}

/** What a segment takes where layers are updated in the step, and where they are not. */
export interface StepBytes {
  /** Each gradient stays until the layer's backward is done. */
  readonly inStep: SegmentBytes
  readonly apart: SegmentBytes
}

/** A buffer in use, from the first instruction that touches it up to after the last. */
interface Range {
  readonly buffer: Buffer
  /** Its place among all. */
  readonly place: number
  readonly from: number
  to: number
  /** As `to`, where layers are updated in the step. */
  inStepTo: number
  /** The loop that last noted it. */
  loop: readonly Range[] | undefined
}

/** An emitter that keeps nothing but when each of a segment's own buffers is in use. */
export interface BytesBuilder extends Builder {
  /** Instructions so far. */
  readonly time: () => number
  /** The op at a place in the segment begins to run backward. */
  readonly beginBackward: (place: number) => void
  /** A gradient is complete, outside of loops: with updates in the step it stays until here. */
  readonly finish: (gradient: Buffer) => void
  /**
   * Lifetimes as `computeLifetimes` has them; forward are those before `forwardEnd`. `sideOf` tells
   * on which side of the segment the gradient of a node's output lives too, if on one alone.
   */
  readonly bytes: (forwardEnd: number, sideOf: (node: string) => 'before' | 'after' | undefined) => StepBytes
}

const isOwn = ({ role }: Buffer): boolean => role === 'local' || role === 'unwanted'

const isCounted = (buffer: Buffer): boolean => isOwn(buffer) || buffer.role === 'output-gradient'

interface Lifetime {
  readonly buffer: Buffer
  readonly from: number
  readonly to: number
}

/** Bytes in use at each time. */
const liveBytes = (ranges: readonly Lifetime[], end: number): Float64Array => {
  const live = new Float64Array(end + 1)
  for (const { buffer, from, to } of ranges) {
    const bytes = alignUp(buffer.bytes)
    live[from]! += bytes
    live[to]! -= bytes
  }
  for (let time = 1; time <= end; time++) live[time]! += live[time - 1]!
  return live
}

const most = (live: Float64Array, from = 0, to = live.length): number => {
  let bytes = 0
  for (let time = from; time < to; time++) if (live[time]! > bytes) bytes = live[time]!
  return bytes
}

const mostLive = (ranges: readonly Lifetime[], end: number): number => most(liveBytes(ranges, end))

/** When the op at a place begins to run backward. */
interface Begun {
  readonly place: number
  readonly time: number
}

/** The most that is live from when the first of these begins until each is done. */
const mostDownTo = (live: Float64Array, begun: readonly Begun[]): readonly ReachedPlace[] => {
  let bytes = 0
  return begun.map(({ place, time }, index) => {
    bytes = Math.max(bytes, most(live, time, begun[index + 1]?.time))
    return { place, bytes }
  })
}

/** A bytes builder that has emitted nothing. */
export const createBytesBuilder = (): BytesBuilder => {
  /** In the order of their first use; by buffer. */
  const ranges: Range[] = []
  const known: (Range | undefined)[] = []
  /** What the innermost loop touches. */
  let loop: Range[] | undefined
  let [time, buffers, events] = [0, 0, 0]
  const note = (range: Range): void => {
    if (loop === undefined || range.loop === loop) return
    range.loop = loop
    loop.push(range)
  }
  const touch = (buffer: Buffer | undefined): void => {
    if (buffer === undefined || !isCounted(buffer)) return
    let range = known[buffer.id]
    if (range === undefined) {
      range = { buffer, place: ranges.length, from: time, to: time + 1, inStepTo: time + 1, loop: undefined }
      ranges.push((known[buffer.id] = range))
    } else range.to = range.inStepTo = time + 1
    note(range)
  }
  const launch = (_: unknown, operands: Readonly<Record<string, UnplacedOperand>>): void => {
    for (const name in operands) {
      const operand = operands[name]!
      if (operand.space === 'arena') touch(operand.buffer)
    }
    time++
  }
  const advance = (device?: Buffer): void => {
    touch(device)
    time++
  }
  /** From the last op to the first. */
  const begun: Begun[] = []
  const closed: { readonly touched: readonly Range[]; readonly from: number; readonly to: number }[] = []
  const runLoop = (count: number, body: () => void): void => {
    if (count === 1) return body()
    const [outer, from] = [loop, time]
    const touched: Range[] = []
    loop = touched
    body()
    loop = outer
    closed.push({ touched, from, to: time })
    touched.forEach(note)
  }
  return {
    buffer: (identity, bytes, role = 'local') => ({ id: buffers++, identity, bytes, role }),
    launch,
    load: launch,
    copy: ({ device }) => advance(device.buffer),
    allToAll: () => undefined,
    exchange: () => undefined,
    ownSlice: () => undefined,
    networkLaunch: () => undefined,
    freshEvent: () => events++,
    record: (_, __, device) => advance(device),
    wait: (_, __, device) => advance(device),
    loop: (_, count, body) => runLoop(count, body),
    pairs: (_, count, body) => {
      runLoop(count >> 1, () => {
        body(0)
        body(1)
      })
      if (count % 2 === 1) body(0)
    },
    seed: () => undefined,
    code: () => [],
    timepoint: () => undefined,
    timepoints: () => new Map(),
    time: () => time,
    beginBackward: (place) => void begun.push({ place, time }),
    finish: (gradient) => {
      const range = isCounted(gradient) ? known[gradient.id] : undefined
      if (range !== undefined) range.inStepTo = time + 1
      time++
    },
    bytes: (forwardEnd, sideOf) => {
      const lifetimesTo = (endOf: (range: Range) => number): readonly Lifetime[] => {
        const lifetimes = ranges.map((range) => ({ buffer: range.buffer, from: range.from, to: endOf(range) }))
        // What is used before or after a loop too lives through all of it, inner loops first.
        for (const { touched, from, to } of closed)
          for (const { place } of touched) {
            const lifetime = lifetimes[place]!
            if (lifetime.to > to || lifetime.from < from) {
              lifetime.from = Math.min(lifetime.from, from)
              lifetime.to = Math.max(lifetime.to, to)
            }
          }
        return lifetimes
      }
      const sum = (lifetimes: readonly Lifetime[]): SegmentBytes => {
        const own = lifetimes.filter(({ buffer }) => isOwn(buffer))
        const across = own.filter(({ from, to }) => from < forwardEnd && to > forwardEnd)
        const ofBackward = own.filter(({ to }) => to > forwardEnd)
        const gradientsOn = (side: 'before' | 'after'): readonly Lifetime[] =>
          lifetimes.filter(({ buffer }) => !isOwn(buffer) && 'node' in buffer.identity && sideOf(buffer.identity.node) === side)
        const withAfter = [...ofBackward, ...gradientsOn('after').map((range) => ({ ...range, from: forwardEnd }))]
        const before = gradientsOn('before').map((range) => ({ ...range, to: time }))
        return {
          forwardBytes: mostLive(
            own.filter(({ from }) => from < forwardEnd),
            time
          ),
          backwardBytes: mostLive(ofBackward, time),
          bytesWithGradients: mostLive([...withAfter, ...before], time),
          bytesDownTo: begun.length === 0 ? [] : mostDownTo(liveBytes(withAfter, time), begun),
          keptBytes: across.reduce((all, { buffer }) => all + buffer.bytes, 0),
          refusedKernel: findRefused(own)
        }
      }
      const apart = sum(lifetimesTo(({ to }) => to))
      const isSame = ranges.every(({ to, inStepTo }) => to === inStepTo)
      return { inStep: isSame ? apart : sum(lifetimesTo(({ inStepTo }) => inStepTo)), apart }
    }
  }
}
