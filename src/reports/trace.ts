import type { Program, SectionSpan, StepTimeline } from '../../staging'
import { programEngines } from '../../staging/program/program'
import { sampleLiveBytes } from './step-part'

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
      readonly cat: string
      readonly args: object
    }
  | { readonly ph: 'C'; readonly pid: 1; readonly ts: number; readonly name: string; readonly args: Readonly<Record<string, number>> }
  | { readonly ph: 'M'; readonly pid: 1; readonly tid: number; readonly name: string; readonly args: Readonly<Record<string, string>> }

const nameEvent = (name: 'process_name' | 'thread_name', tid: number, text: string): TraceEvent => ({
  ...{ ph: 'M', pid: 1, tid, name },
  args: { name: text }
})

/** Points of a counter; a viewer draws no more beside each other. */
const maxPoints = 20_000

const counters = (name: string, buffers: Program['buffers'], lifetimes: StepTimeline['lifetimes']): readonly TraceEvent[] => {
  const { time, bytes } = sampleLiveBytes(buffers, lifetimes, maxPoints)
  return time.map((one, index) => ({ ph: 'C', pid: 1, ts: one / 1e3, name, args: { bytes: bytes[index]! } }))
}

/**
 * Microseconds of a span that ends at `end`, so that no sum of the two in floating point lies after
 * it: a viewer would take what begins there for a part of the span.
 */
const traceDuration = (start: number, end: number): number => {
  const duration = end - start
  return start + duration > end ? duration * (1 - Number.EPSILON) - Number.EPSILON * end : duration
}

const span = (tid: number, { from, to }: Pick<SectionSpan, 'from' | 'to'>, name: string, cat: string, args: object): TraceEvent => ({
  ...{ ph: 'X', pid: 1, tid, ts: from / 1e3, dur: traceDuration(from / 1e3, to / 1e3), name, cat, args }
})

/**
 * A timeline as events: a thread each engine, one for the sections that ran, where they are told
 * apart, and counters of live bytes.
 */
export const traceEvents = (
  title: string,
  program: Program,
  timeline: StepTimeline,
  sections: readonly SectionSpan[] = []
): readonly TraceEvent[] => {
  const { buffers, hostBuffers } = program
  const engines = programEngines(program)
  return [
    nameEvent('process_name', 0, title),
    ...engines.map((engine, index) => nameEvent('thread_name', index + 1, engine)),
    ...(sections.length === 0 ? [] : [nameEvent('thread_name', engines.length + 1, 'sections')]),
    ...sections.map((one) => span(engines.length + 1, one, `${one.section} ${one.number + 1}`, 'section', {})),
    ...timeline.spans.map((one): TraceEvent => {
      const { engine, what, buffer, times } = one
      const about = buffer === undefined ? undefined : buffers[buffer]!
      const args = { ...(about && { buffer: about.name, bytes: about.bytes, layer: about.layer }), ...(times > 1 && { times }) }
      return span(engines.indexOf(engine) + 1, one, what, engine, args)
    }),
    ...counters('device memory', buffers, timeline.lifetimes),
    ...(timeline.hostLifetimes.length === 0 ? [] : counters('host memory', hostBuffers, timeline.hostLifetimes))
  ]
}

/** A file of events, as text. */
export const traceText = (events: readonly TraceEvent[]): string =>
  `{"displayTimeUnit":"ms","traceEvents":[\n${events.map((event) => JSON.stringify(event)).join(',\n')}\n]}\n`
