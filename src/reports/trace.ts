import type { Program, StepTimeline } from '../../staging'
import { engines } from '../../staging/program/program'
import { liveBytesOf } from './step-part'

/**
 * An event of the Trace Event Format, which Perfetto and chrome://tracing open: X is a span, C a
 * counter, M a name. Times are microseconds.
 */
type TraceEvent =
  | {
      readonly ph: 'X'
      readonly pid: 1
      readonly tid: number
      readonly ts: number
      readonly dur: number
      readonly name: string
      readonly args: object
    }
  | { readonly ph: 'C'; readonly pid: 1; readonly ts: number; readonly name: string; readonly args: Readonly<Record<string, number>> }
  | { readonly ph: 'M'; readonly pid: 1; readonly tid: number; readonly name: string; readonly args: Readonly<Record<string, string>> }

const nameOf = (name: 'process_name' | 'thread_name', tid: number, text: string): TraceEvent => ({
  ...{ ph: 'M', pid: 1, tid, name },
  args: { name: text }
})

const counters = (name: string, buffers: Program['buffers'], lifetimes: StepTimeline['lifetimes']): readonly TraceEvent[] => {
  const { time, bytes } = liveBytesOf(buffers, lifetimes)
  return time.map((one, index) => ({ ph: 'C', pid: 1, ts: one / 1e3, name, args: { bytes: bytes[index]! } }))
}

/** A predicted step as events: a thread each engine, and counters of live bytes. */
export const traceEvents = (model: string, { buffers, hostBuffers }: Program, timeline: StepTimeline): readonly TraceEvent[] => [
  nameOf('process_name', 0, `${model}, as predicted`),
  ...engines.map((engine, index) => nameOf('thread_name', index + 1, engine)),
  ...timeline.spans.map(({ engine, from, to, what, buffer, times }): TraceEvent => {
    const about = buffer === undefined ? undefined : buffers[buffer]!
    const args = { ...(about && { buffer: about.name, bytes: about.bytes, layer: about.layer }), ...(times > 1 && { times }) }
    return { ph: 'X', pid: 1, tid: engines.indexOf(engine) + 1, ts: from / 1e3, dur: (to - from) / 1e3, name: what, args }
  }),
  ...counters('device memory', buffers, timeline.lifetimes),
  ...(timeline.hostLifetimes.length === 0 ? [] : counters('host memory', hostBuffers, timeline.hostLifetimes))
]

/** A file of events, as text. */
export const traceText = (events: readonly TraceEvent[]): string =>
  `{"displayTimeUnit":"ms","traceEvents":[\n${events.map((event) => JSON.stringify(event)).join(',\n')}\n]}\n`
