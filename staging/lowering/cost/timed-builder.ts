import { nanoseconds, networkNanoseconds, type Timed } from '../../devices/simulate'
import type { DeviceModel } from '../../devices/device-model'
import type { Builder } from '../ir/builder'

/**
 * Emits code of which only the time is told: what computes between two instructions that wait or
 * copy is one launch, whose `kernel` is its nanoseconds.
 */
export interface TimedBuilder extends Builder {
  /** Something that computes for so many nanoseconds. */
  readonly compute: (nanoseconds: number) => void
  /** Something for the to-device engine that takes so many nanoseconds. */
  readonly loadFor: (nanoseconds: number) => void
  readonly timed: () => readonly Timed[]
}

/** A timed builder that has emitted nothing, with a device's times of kernels. */
export const createTimedBuilder = (device: DeviceModel): TimedBuilder => {
  let current: Timed[] = []
  let [buffers, events] = [0, 0]
  const compute = (time: number): void => {
    const last = current[current.length - 1]
    if (last?.kind === 'launch' && last.engine === undefined) current[current.length - 1] = { kind: 'launch', kernel: last.kernel + time }
    else current.push({ kind: 'launch', kernel: time })
  }
  const loadFor = (time: number): void => void current.push({ kind: 'launch', kernel: time, engine: 'to-device' })
  const exchanging = (time: number): void => (time === 0 ? undefined : compute(time))
  const loop = (count: number, emitBody: () => void): void => {
    if (count === 0) return
    if (count === 1) return emitBody()
    const outer = current
    current = []
    emitBody()
    const body = current
    current = outer
    const [only, ...more] = body
    if (more.length === 0 && only?.kind === 'launch' && only.engine === undefined) compute(count * only.kernel)
    else current.push({ kind: 'loop', count, body })
  }
  return {
    compute,
    loadFor,
    timed: () => current,
    buffer: (identity, bytes, role = 'local') => ({ id: buffers++, identity, bytes, role }),
    launch: (kernel) => compute(nanoseconds(device, kernel)),
    load: (kernel) => loadFor(nanoseconds(device, kernel)),
    copy: ({ engine, rows, rowBytes }) => void current.push({ kind: 'copy', engine, rows, rowBytes }),
    // What computes waits for it at once.
    allToAll: (one) => exchanging(networkNanoseconds(device, { kind: 'allToAll', ...one })),
    exchange: (one) => exchanging(networkNanoseconds(device, { kind: 'exchange', ...one })),
    ownSlice: () => undefined,
    networkLaunch: () => undefined,
    freshEvent: () => events++,
    record: (engine, event) => void current.push({ kind: 'record', engine, event }),
    wait: (engine, event) => void current.push({ kind: 'wait', engine, event }),
    loop: (_, count, body) => loop(count, body),
    pairs: (_, count, body) => {
      loop(count >> 1, () => [0, 1].forEach((index) => body(index as 0 | 1)))
      if (count % 2 === 1) body(0)
    },
    seed: () => undefined,
    code: () => [],
    timepoint: () => undefined,
    timepoints: () => new Map()
  }
}
